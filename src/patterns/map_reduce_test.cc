// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/map_reduce.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "patterns/testing/world.h"

namespace quire::patterns {
namespace {

using bson::Document;

Document Sum(const std::vector<Document>& values) {
  int64_t total = 0;
  int64_t count = 0;
  for (const Document& value : values) {
    total += IntegerAt(value, "total");
    count += IntegerAt(value, "count");
  }
  return Doc("total", total, "count", count);
}

MapReduceJob SumByUser(ReduceInto into) {
  return {.input = "events",
          .filter = Doc("length", Doc("$gte", 0)),
          .map =
              [](bson::View event, const MapReduceJob::Emit& emit) {
                emit(event["user"], Doc("total", IntegerAt(event, "length"), "count", int64_t{1}));
              },
          .reduce = Sum,
          .into = into,
          .output = "sums"};
}

// "user:total/count..." of the output.
std::string Output(const Store& store) {
  std::string text;
  const auto sums = *store.Find("sums", Doc(), {.sort = Doc("_id", 1)});
  for (const Document& sum : sums) {
    text += bson::ToJson(sum["_id"]) + ":" + std::to_string(IntegerAt(sum, "value.total")) + "/" +
            std::to_string(IntegerAt(sum, "value.count")) + " ";
  }
  return text;
}

class MapReduceTest : public ::testing::TestWithParam<Place> {
 protected:
  void Record(int32_t user, int32_t length) {
    ASSERT_TRUE(world_.store.Insert("events", Doc("user", user, "length", length)).ok());
  }
  World world_{GetParam()};
};

TEST_P(MapReduceTest, EveryModeOfOutput) {
  const Store& store = world_.store;
  Record(1, 10);
  Record(1, 5);
  Record(2, 7);
  Record(2, -1);  // filtered out
  ASSERT_TRUE(store.Insert("sums", Doc("_id", 9, "value", Doc("total", 1, "count", 1))).ok());
  ASSERT_TRUE(store.Insert("sums", Doc("_id", 2, "value", Doc("total", 3, "count", 1))).ok());
  auto results = RunMapReduce(store, SumByUser(ReduceInto::kInline));
  ASSERT_TRUE(results.ok()) << results.status().ToString();
  ASSERT_EQ(results->size(), 2u);
  EXPECT_EQ(Output(store), "2:3/1 9:1/1 ");
  ASSERT_TRUE(RunMapReduce(store, SumByUser(ReduceInto::kReduce)).ok());
  EXPECT_EQ(Output(store), "1:15/2 2:10/2 9:1/1 ");
  ASSERT_TRUE(RunMapReduce(store, SumByUser(ReduceInto::kMerge)).ok());
  EXPECT_EQ(Output(store), "1:15/2 2:7/1 9:1/1 ");
  ASSERT_TRUE(RunMapReduce(store, SumByUser(ReduceInto::kReplace)).ok());
  EXPECT_EQ(Output(store), "1:15/2 2:7/1 ");

  MapReduceJob means = SumByUser(ReduceInto::kInline);
  means.finalize = [](const Document& value) {
    return Doc("mean", static_cast<double>(IntegerAt(value, "total")) /
                           static_cast<double>(IntegerAt(value, "count")));
  };
  results = RunMapReduce(store, means);
  EXPECT_EQ(At((*results)[0], "value.mean").AsDouble(), 7.5);
  means.into = ReduceInto::kReduce;
  EXPECT_EQ(ErrorName(RunMapReduce(store, means).status()), "BadValue");
}

// Any grouping of the values reduces to the same.
TEST_P(MapReduceTest, ReduceIsAssociativeAndCommutative) {
  std::mt19937 random(3);
  std::vector<Document> values;
  for (int64_t i = 0; i < 40; ++i) {
    values.push_back(Doc("total", static_cast<int64_t>(random() % 100), "count", int64_t{1}));
  }
  const Document sum = Sum(values);
  const std::string whole = bson::ToJson(sum.view());
  for (int round = 0; round < 20; ++round) {
    std::vector<Document> left = values;
    std::shuffle(left.begin(), left.end(), random);
    while (left.size() > 1) {
      const size_t n = random() % (left.size() - 1) + 2;
      const Document one = Sum({left.end() - static_cast<int64_t>(n), left.end()});
      left.erase(left.end() - static_cast<int64_t>(n), left.end());
      left.insert(left.begin(), one);
    }
    EXPECT_EQ(bson::ToJson(left[0].view()), whole);
  }
}

TEST_P(MapReduceTest, RepeatedThroughEveryCrash) {
  for (ReduceInto into : {ReduceInto::kMerge, ReduceInto::kReplace}) {
    CrashCase test;
    test.once = [](World* world) {
      for (int32_t i = 0; i < 6; ++i) {
        ASSERT_TRUE(world->store.Insert("events", Doc("user", i % 2, "length", i)).ok());
      }
    };
    test.operation = [&](World* world, const Seams& seams) {
      return RunMapReduce(Store(world->client, world->database, seams), SumByUser(into)).status();
    };
    test.settle = [&](World* world) {
      ASSERT_TRUE(RunMapReduce(world->store, SumByUser(into)).ok());
    };
    test.always = [](World*) {};
    test.settled = [](World* world) { EXPECT_EQ(Output(world->store), "0:6/3 1:9/3 "); };
    EXPECT_GE(RunCrashCase(GetParam(), test), 10);
  }
}

INSTANTIATE_TEST_SUITE_P(Places, MapReduceTest, ::testing::Values(Place::kEmbedded, Place::kServed),
                         [](const auto& place) { return PlaceName(place.param); });

}  // namespace
}  // namespace quire::patterns
