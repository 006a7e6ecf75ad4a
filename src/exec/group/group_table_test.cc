// SPDX-License-Identifier: Apache-2.0
#include "exec/group/group_table.h"

#include <gtest/gtest.h>

#include "bson/testing/json.h"

namespace quire::exec {
namespace {

// Keys of one line are one group.
TEST(GroupTable, EqualKeysShareAGroup) {
  const char* kGroups[] = {
      "{v: [1, {$numberLong: '1'}, 1.0, {$numberDecimal: '1.00'}]}",
      "{v: [1.5, {$numberDecimal: '1.5'}]}",
      "{v: [0, {$numberDouble: '-0.0'}]}",
      "{v: [{$numberDouble: 'NaN'}, {$numberDecimal: 'NaN'}]}",
      "{v: ['a', {$symbol: 'a'}]}",
      "{v: [null]}",
      "{v: [true]}",
      "{v: [{a: 1, b: 'x'}, {a: 1.0, b: 'x'}, {a: {$numberLong: '1'}, b: 'x'}]}",
      "{v: [{b: 'x', a: 1}]}",
      "{v: [[1, 2], [1.0, 2]]}",
      "{v: [[2, 1]]}",
      "{v: [{$date: {$numberLong: '1'}}]}",
      "{v: [{$oid: '0123456789abcdef01234567'}]}",
  };
  GroupTable table(nullptr);
  std::vector<bson::Document> documents;
  for (const char* text : kGroups) {
    documents.push_back(bson::TestDocument(text));
  }
  uint32_t number = 0;
  for (const bson::Document& document : documents) {
    bson::Value first = document["v"].AsArray().front().value();
    EXPECT_EQ(table.Find(first), GroupTable::kNone) << bson::ToJson(document.view());
    table.Insert(first, number++);
  }
  for (int round = 0; round < 2; ++round) {
    number = 0;
    for (const bson::Document& document : documents) {
      for (const bson::Element& key : document["v"].AsArray()) {
        EXPECT_EQ(table.Find(key.value()), number) << bson::ToJson(key.value());
      }
      ++number;
    }
  }
  table.Clear();
  EXPECT_EQ(table.Find(documents[0]["v"].AsArray().front().value()), GroupTable::kNone);
}

TEST(GroupTable, GrowsWithItsKeys) {
  GroupTable table(nullptr);
  constexpr int64_t kKeys = 5000;
  for (int64_t i = 0; i < kKeys; ++i) {
    ASSERT_EQ(table.Find(bson::Value(i)), GroupTable::kNone);
    table.Insert(bson::Value(i), static_cast<uint32_t>(i));
  }
  for (int64_t i = 0; i < kKeys; ++i) {
    ASSERT_EQ(table.Find(bson::Value(static_cast<double>(i))), static_cast<uint32_t>(i));
  }
  EXPECT_GT(table.memory(), kKeys * sizeof(bson::Value));
}

}  // namespace
}  // namespace quire::exec
