// SPDX-License-Identifier: Apache-2.0
#include "exec/sort/sorter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace quire::exec {
namespace {

Status AddNumber(Sorter& sorter, const std::string& key, int32_t number) {
  bson::Document document = bson::Builder().Append("n", number).Finish();
  Row row;
  row.document = document;
  row.meta.record_id = number;
  row.meta.has_record_id = true;
  return sorter.Add(key, row);
}

std::vector<int32_t> Drain(Sorter& sorter) {
  std::vector<int32_t> numbers;
  Row row;
  EXPECT_TRUE(sorter.Finish().ok());
  while (true) {
    auto more = sorter.Next(&row);
    EXPECT_TRUE(more.ok());
    if (!more.ok() || !*more) {
      return numbers;
    }
    numbers.push_back(row.document["n"].AsInt32());
    EXPECT_EQ(row.meta.record_id, numbers.back());
  }
}

TEST(SorterTest, EqualKeysKeepTheirOrder) {
  Sorter sorter({});
  ASSERT_TRUE(AddNumber(sorter, "b", 1).ok());
  ASSERT_TRUE(AddNumber(sorter, "a", 2).ok());
  ASSERT_TRUE(AddNumber(sorter, "b", 3).ok());
  ASSERT_TRUE(AddNumber(sorter, "", 4).ok());
  EXPECT_EQ(Drain(sorter), (std::vector<int32_t>{4, 2, 1, 3}));
}

TEST(SorterTest, LimitKeepsTheFirst) {
  SorterOptions options;
  options.limit = 2;
  Sorter sorter(options);
  for (int32_t i = 0; i < 10; ++i) {
    ASSERT_TRUE(AddNumber(sorter, std::string(1, static_cast<char>('z' - i / 2)), i).ok());
  }
  EXPECT_EQ(Drain(sorter), (std::vector<int32_t>{8, 9}));
}

TEST(SorterTest, MemoryLimit) {
  SorterOptions options;
  options.memory_limit = 1000;
  Sorter sorter(options);
  Status status;
  for (int32_t i = 0; i < 100 && status.ok(); ++i) {
    status = AddNumber(sorter, "key", i);
  }
  EXPECT_EQ(status.code(), 292);
}

TEST(SorterTest, SpilledRunsMerge) {
  for (uint64_t limit : {0, 37}) {
    SorterOptions options;
    options.memory_limit = 5000;
    options.allow_disk = true;
    options.limit = limit;
    Sorter sorter(options);
    std::vector<std::pair<std::string, int32_t>> model;
    std::mt19937 random(7);
    for (int32_t i = 0; i < 2000; ++i) {
      model.emplace_back(std::to_string(random() % 500), i);
      ASSERT_TRUE(AddNumber(sorter, model.back().first, i).ok());
    }
    std::stable_sort(model.begin(), model.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<int32_t> want;
    for (size_t i = 0; i < model.size() && (limit == 0 || i < limit); ++i) {
      want.push_back(model[i].second);
    }
    EXPECT_EQ(Drain(sorter), want);
    EXPECT_EQ(limit == 0, sorter.spills() > 1);
  }
}

}  // namespace
}  // namespace quire::exec
