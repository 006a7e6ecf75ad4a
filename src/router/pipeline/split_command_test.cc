// SPDX-License-Identifier: Apache-2.0
#include "router/pipeline/split_command.h"

#include <gtest/gtest.h>

#include "expr/context.h"
#include "pipeline/parse.h"

namespace quire::router {
namespace {

// "shards | merger"
std::string Divided(std::string_view json) {
  auto wrapped = bson::Document::FromJson("{\"p\": " + std::string(json) + "}");
  EXPECT_TRUE(wrapped.ok()) << json;
  expr::Context context;
  pipeline::PipelineOptions options;
  options.ns = {"test", "c"};
  auto stages = pipeline::ParsePipeline(wrapped->view()["p"].AsArray(), options, &context);
  EXPECT_TRUE(stages.ok()) << stages.status().ToString();
  const DividedPipeline divided = Divide(*stages);
  std::string text;
  for (const bson::Document& stage : divided.shards) {
    text += bson::ToJson(stage);
  }
  text += " | ";
  for (const bson::Document& stage : divided.merger) {
    text += bson::ToJson(stage);
  }
  return text;
}

TEST(SplitCommand, WhatEachShardCanDoAloneStaysThere) {
  EXPECT_EQ(Divided(R"([{"$match": {"a": 1}}, {"$unwind": "$b"}])"),
            R"({"$match":{"a":1}}{"$unwind":"$b"} | )");
}

TEST(SplitCommand, TheFirstStageThatSeesAllRowsBeginsTheMerger) {
  EXPECT_EQ(Divided(R"([{"$match": {"a": 1}}, {"$group": {"_id": "$b"}}, {"$match": {"_id": 1}}])"),
            R"({"$match":{"a":1}} | {"$group":{"_id":"$b"}}{"$match":{"_id":1}})");
}

TEST(SplitCommand, SortsAndLimitsRunOnBothSides) {
  EXPECT_EQ(Divided(R"([{"$sort": {"a": 1}}, {"$limit": 3}])"),
            R"({"$sort":{"a":1}}{"$limit":3} | {"$sort":{"a":1}}{"$limit":3})");
  EXPECT_EQ(Divided(R"([{"$limit": 3}, {"$match": {"a": 1}}])"),
            R"({"$limit":3} | {"$limit":3}{"$match":{"a":1}})");
  EXPECT_EQ(Divided(R"([{"$skip": 3}])"), R"( | {"$skip":3})");
}

TEST(SplitCommand, OtherCollectionsAreReadByTheMerger) {
  EXPECT_EQ(Divided(R"([{"$lookup": {"from": "d", "localField": "x", "foreignField": "y",
                        "as": "z"}}])"),
            R"( | {"$lookup":{"from":"d","localField":"x","foreignField":"y","as":"z"}})");
  EXPECT_EQ(Divided(R"([{"$match": {}}, {"$merge": "d"}])"), R"({"$match":{}} | {"$merge":"d"})");
}

TEST(SplitCommand, AStageThatStandsForOthersIsDividedAsThose) {
  EXPECT_EQ(Divided(R"([{"$sortByCount": "$a"}])"),
            R"( | {"$group":{"_id":"$a","count":{"$sum":1}}}{"$sort":{"count":-1}})");
}

}  // namespace
}  // namespace quire::router
