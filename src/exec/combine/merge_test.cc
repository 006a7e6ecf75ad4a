// SPDX-License-Identifier: Apache-2.0
#include "exec/combine/merge.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "bson/testing/json.h"
#include "exec/documents.h"
#include "exec/limit.h"
#include "exec/sample.h"
#include "exec/sort/sort.h"
#include "exec/testing/waits_at_random.h"

namespace quire::exec {
namespace {

Documents::List ListOf(std::string_view array) {
  bson::Document parsed = bson::TestDocument("{d: " + std::string(array) + "}");
  Documents::List list;
  for (const bson::Element& element : parsed["d"].AsArray()) {
    list.emplace_back(element.value().AsDocument());
  }
  return list;
}

// Documents with the record ids that their field r says, and an index key.
class Records final : public Operator {
 public:
  explicit Records(std::string_view array) : list_(ListOf(array)) {}
  Result<bool> Next(OpContext&, Row* row) override {
    if (next_ == list_.size()) {
      return false;
    }
    *row = Row();
    row->document = list_[next_++];
    row->meta.record_id = row->document["r"].AsInt64();
    row->meta.has_record_id = true;
    row->meta.index_key = bson::Value(row->document);
    return true;
  }

 private:
  Documents::List list_;
  size_t next_ = 0;
};

// The field `name` of all rows, one after the other.
std::string TextsOf(Operator& top, std::string_view name) {
  OpContext op;
  std::string all;
  Row row;
  for (;;) {
    auto more = top.Next(op, &row);
    if (!more.ok() && IsNotYet(more.status())) {
      continue;
    }
    EXPECT_TRUE(more.ok());
    if (!more.ok() || !*more) {
      return all;
    }
    bson::Value value = row.document[name];
    all += value.is_string() ? std::string(value.AsString()) : bson::ToJson(value);
  }
}

TEST(Or, DropsRepeatedRowsOnlyWhenAsked) {
  for (Repeated repeated : {Repeated::kGive, Repeated::kDrop}) {
    Records first("[{r: 1, t: 'a'}, {r: 2, t: 'b'}]");
    Records second("[{r: 2, t: 'c'}, {r: 3, t: 'd'}]");
    Or both({&first, &second}, repeated);
    EXPECT_EQ(TextsOf(both, "t"), repeated == Repeated::kGive ? "abcd" : "abd");
    EXPECT_EQ(both.counters().dups_tested, repeated == Repeated::kGive ? 0u : 4u);
  }
}

TEST(SortMerge, DropsRepeatedRowsOnlyWhenAsked) {
  expr::Context context;
  bson::Document spec = bson::TestDocument("{k: 1}");
  auto pattern = expr::SortPattern::Parse(spec);
  ASSERT_TRUE(pattern.ok());
  for (Repeated repeated : {Repeated::kGive, Repeated::kDrop}) {
    Records first("[{r: 1, k: 1, t: 'a'}, {r: 2, k: 3, t: 'c'}]");
    Records second("[{r: 3, k: 2, t: 'b'}, {r: 2, k: 3, t: 'c'}, {r: 4, k: 4, t: 'd'}]");
    SortMerge both({&first, &second}, &*pattern, &context, repeated);
    EXPECT_EQ(TextsOf(both, "t"), repeated == Repeated::kGive ? "abccd" : "abcd");
  }
}

// Two sorted inputs whose rows have the same record ids, as those of two shards may.
TEST(SortMerge, MergesByTheKeysThatRowsCarry) {
  expr::Context context;
  bson::Document spec = bson::TestDocument("{k: -1}");
  auto pattern = expr::SortPattern::Parse(spec);
  ASSERT_TRUE(pattern.ok());
  Records first("[{r: 1, k: 1, t: 'e'}, {r: 2, k: 3, t: 'a'}, {r: 3, k: 3, t: 'b'}]");
  Records second("[{r: 1, k: 3, t: 'c'}, {r: 2, k: 2, t: 'd'}]");
  Sort sorted_first(&first, &*pattern, &context, {});
  Sort sorted_second(&second, &*pattern, &context, {});
  SortMerge merged({&sorted_first, &sorted_second});
  EXPECT_EQ(TextsOf(merged, "t"), "abcde") << "of equal keys the first input's come first";
}

TEST(SortMerge, KeepsMetadata) {
  expr::Context context;
  bson::Document spec = bson::TestDocument("{k: 1}");
  auto pattern = expr::SortPattern::Parse(spec);
  ASSERT_TRUE(pattern.ok());
  Records first("[{r: 1, k: 1, t: 'a'}]");
  Records second("[{r: 2, k: 2, t: 'b'}]");
  SortMerge both({&first, &second}, &*pattern, &context, Repeated::kGive);
  OpContext op;
  Row row;
  for (const char* name : {"a", "b"}) {
    auto more = both.Next(op, &row);
    ASSERT_TRUE(more.ok() && *more);
    EXPECT_EQ(row.meta.index_key.AsDocument()["t"].AsString(), name);
    EXPECT_TRUE(row.meta.has_record_id);
    EXPECT_FALSE(row.sort_key.empty());
  }
}

// Inputs that are not there yet at random points.
TEST(Merging, WaitsForItsInputs) {
  expr::Context context;
  bson::Document spec = bson::TestDocument("{k: -1}");
  auto pattern = expr::SortPattern::Parse(spec);
  ASSERT_TRUE(pattern.ok());
  for (uint32_t seed = 1; seed <= 50; ++seed) {
    std::mt19937 random(seed);
    auto input = [&](std::string_view array) {
      return std::make_unique<WaitsAtRandom>(std::make_unique<Records>(array), &random);
    };
    auto make = [&](std::vector<std::unique_ptr<Operator>>* inputs) {
      inputs->push_back(
          input("[{r: 1, k: 1, t: 'e'}, {r: 2, k: 3, t: 'a'}, {r: 3, k: 3, t: 'b'}]"));
      inputs->push_back(input("[{r: 1, k: 3, t: 'c'}, {r: 5, k: 2, t: 'd'}]"));
    };
    std::vector<std::unique_ptr<Operator>> inputs;
    make(&inputs);
    Or either({inputs[0].get(), inputs[1].get()}, Repeated::kDrop);
    EXPECT_EQ(TextsOf(either, "t"), "eabd");

    inputs.clear();
    make(&inputs);
    Sort first(inputs[0].get(), &*pattern, &context, {});
    Sort second(inputs[1].get(), &*pattern, &context, {});
    SortMerge merged({&first, &second});
    Skip skip(&merged, 1);
    Limit limit(&skip, 3);
    EXPECT_EQ(TextsOf(limit, "t"), "bcd");
  }
}

Documents::List Numbers(int from, int to) {
  Documents::List list;
  for (int i = from; i < to; ++i) {
    list.push_back(bson::Builder().Append("n", i).Finish());
  }
  return list;
}

std::unique_ptr<Operator> SampleOf(int from, int to, int64_t size) {
  return std::make_unique<Sample>(std::make_unique<Documents>(Numbers(from, to)), size,
                                  SorterOptions());
}

TEST(Sample, GivesAllWhenThereAreFew) {
  std::mt19937 random(1);
  Sample sample(
      std::make_unique<WaitsAtRandom>(std::make_unique<Documents>(Numbers(0, 5)), &random), 100,
      SorterOptions());
  OpContext op;
  std::set<int32_t> seen;
  Row row;
  std::string last;
  for (;;) {
    Result<bool> more = sample.Next(op, &row);
    if (!more.ok() && IsNotYet(more.status())) {
      continue;
    }
    ASSERT_TRUE(more.ok());
    if (!*more) {
      break;
    }
    EXPECT_TRUE(seen.insert(row.document["n"].AsInt32()).second);
    EXPECT_LE(last, row.sort_key) << "rows come in the order of their keys";
    last = row.sort_key;
  }
  EXPECT_EQ(seen.size(), 5u);
}

// Samples of 2 of the numbers 0 to 9, split into 0 to 2 and 3 to 9, merged and cut, choose each
// number equally often.
TEST(Sample, MergedSamplesAreASampleOfAll) {
  constexpr int kRounds = 3000;
  std::vector<int> chosen(10);
  for (int round = 0; round < kRounds; ++round) {
    auto first = SampleOf(0, 3, 2);
    auto second = SampleOf(3, 10, 2);
    SortMerge merged({first.get(), second.get()});
    Limit cut(&merged, 2);
    OpContext op;
    Row row;
    int rows = 0;
    while (*cut.Next(op, &row)) {
      ++chosen[static_cast<size_t>(row.document["n"].AsInt32())];
      ++rows;
    }
    ASSERT_EQ(rows, 2);
  }
  for (int times : chosen) {  // 600 expected, with a deviation of 22
    EXPECT_GT(times, 600 - 8 * 22);
    EXPECT_LT(times, 600 + 8 * 22);
  }
}

TEST(Sample, SpillsWhenAllowed) {
  for (bool disk : {false, true}) {
    SorterOptions options;
    options.memory_limit = 5000;
    options.allow_disk = disk;
    Sample sample(std::make_unique<Documents>(Numbers(0, 1000)), 500, options);
    OpContext op;
    Row row;
    size_t rows = 0;
    Result<bool> more = sample.Next(op, &row);
    for (; more.ok() && *more; more = sample.Next(op, &row)) {
      ++rows;
    }
    EXPECT_EQ(more.ok(), disk);
    EXPECT_EQ(rows, disk ? 500u : 0u);
  }
}

}  // namespace
}  // namespace quire::exec
