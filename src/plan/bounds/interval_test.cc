// SPDX-License-Identifier: Apache-2.0
#include "plan/bounds/interval.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace quire::plan {
namespace {

using bson::Value;

Interval Ints(int32_t low, bool low_inclusive, int32_t high, bool high_inclusive) {
  return Interval::Range(Value(low), low_inclusive, Value(high), high_inclusive);
}

std::string Text(const IntervalList& list, bool descending = false) {
  bson::Builder out;
  list.AppendTo("i", descending, &out);
  bson::Document document = out.Finish();
  std::string text;
  for (const bson::Element& element : document["i"].AsArray()) {
    text += (text.empty() ? "" : " ") + std::string(element.value().AsString());
  }
  return text;
}

IntervalList Listed(std::vector<Interval> intervals) {
  IntervalList list;
  for (Interval& interval : intervals) {
    list.Add(std::move(interval));
  }
  list.Unite();
  return list;
}

TEST(IntervalTest, Unite) {
  EXPECT_EQ(Text(Listed({Ints(5, true, 7, true), Ints(1, true, 3, false)})), "[1, 3) [5, 7]");
  EXPECT_EQ(Text(Listed({Ints(1, true, 3, false), Ints(3, true, 4, true)})), "[1, 4]");
  EXPECT_EQ(Text(Listed({Ints(1, true, 3, false), Ints(3, false, 4, true)})), "[1, 3) (3, 4]");
  EXPECT_EQ(Text(Listed({Ints(1, true, 9, true), Ints(2, true, 3, true)})), "[1, 9]");
  EXPECT_EQ(Text(Listed({Ints(2, true, 2, false), Ints(4, true, 3, true)})), "");
}

TEST(IntervalTest, Intersect) {
  IntervalList list = Listed({Ints(1, true, 5, false), Ints(7, false, 9, true)});
  list.IntersectWith(Listed({Ints(3, false, 7, true), Ints(9, true, 12, true)}));
  EXPECT_EQ(Text(list), "(3, 5) [9, 9]");
  list.IntersectWith(IntervalList::All());
  EXPECT_EQ(Text(list), "(3, 5) [9, 9]");
  list.IntersectWith(IntervalList());
  EXPECT_TRUE(list.empty());
}

TEST(IntervalTest, Complement) {
  IntervalList list = Listed({Ints(1, true, 5, false), Ints(7, false, 9, true)});
  list.Complement();
  EXPECT_EQ(Text(list), "[MinKey, 1) [5, 7] (9, MaxKey]");
  list.Complement();
  EXPECT_EQ(Text(list), "[1, 5) (7, 9]");
  IntervalList all = IntervalList::All();
  all.Complement();
  EXPECT_TRUE(all.empty());
}

TEST(IntervalTest, DescendingTextSwapsTheEnds) {
  IntervalList list = Listed({Ints(1, true, 5, false), Ints(7, false, 9, true)});
  EXPECT_EQ(Text(list, true), "[9, 7) (5, 1]");
}

}  // namespace
}  // namespace quire::plan
