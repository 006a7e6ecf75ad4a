// SPDX-License-Identifier: Apache-2.0
//
// Reads with read concern "snapshot" through a router.
#include "base/error_codes.h"
#include "router/testing/cluster.h"

namespace quire::router {
namespace {

class SnapshotTest : public ::testing::Test {
 protected:
  SnapshotTest() {
    cluster_.Place("c");
    EXPECT_EQ(
        cluster_.Code(R"({"insert": "c", "documents": [{"_id": 1, "x": -1}, {"_id": 2, "x": 1}]})"),
        0);
  }

  // A find in which each document is its own batch: {batch, id, time}.
  struct Seen {
    std::string batch;
    int64_t cursor = 0;
    std::string time;  // as a read concern names it
  };
  Seen Find(const std::string& filter, const std::string& time = "", int batch_size = 10) {
    const bson::Document reply = cluster_.Run(
        R"({"find": "c", "sort": {"x": 1}, "filter": )" + filter + R"(, "batchSize": )" +
        std::to_string(batch_size) + R"(, "readConcern": {"level": "snapshot")" + time + "}}");
    if (!reply["cursor"].is_document()) {
      return {bson::ToJson(reply), 0, ""};
    }
    const bson::View cursor = reply["cursor"].AsDocument();
    const bson::Timestamp at = cursor["atClusterTime"].AsTimestamp();
    return {bson::ToJson(cursor["firstBatch"]), cursor["id"].AsInt64(),
            R"(, "atClusterTime": {"$timestamp": {"t": )" + std::to_string(at.seconds) +
                R"(, "i": )" + std::to_string(at.increment) + "}}"};
  }
  void Change() {
    EXPECT_EQ(cluster_.Code(R"({"update": "c", "updates": [{"q": {}, "u": {"$set": {"n": 1}},
                                                            "multi": true}]})"),
              0);
  }

  Cluster cluster_;
};

constexpr char kBefore[] = R"([{"_id":1,"x":-1},{"_id":2,"x":1}])";

TEST_F(SnapshotTest, AllShardsShowTheTimeThatTheFirstReadTells) {
  const Seen first = Find("{}");
  EXPECT_EQ(first.batch, kBefore);
  Change();
  EXPECT_EQ(Find("{}", first.time).batch, kBefore);
  EXPECT_NE(Find("{}").batch, kBefore);
}

TEST_F(SnapshotTest, AReadOfOneShardFixesTheTimeOfAll) {
  const Seen first = Find(R"({"x": 1})");
  Change();
  EXPECT_EQ(Find("{}", first.time).batch, kBefore);
}

TEST_F(SnapshotTest, ACursorStaysInItsTime) {
  const Seen first = Find("{}", "", 1);
  EXPECT_EQ(first.batch, R"([{"_id":1,"x":-1}])");
  Change();
  const bson::Document more =
      cluster_.Run(R"({"getMore": {"$numberLong": ")" + std::to_string(first.cursor) +
                   R"("}, "collection": "c"})");
  EXPECT_EQ(bson::ToJson(more["cursor"].AsDocument()["nextBatch"]), R"([{"_id":2,"x":1}])");
}

// A shard that has written at a later time than the router knows of is asked for another one.
TEST_F(SnapshotTest, AShardWhoseClockIsAheadIsFollowed) {
  cluster_.s1.engine->clock().Tick(1'000'000);
  cluster_.RunOnShard(cluster_.s1, R"({"insert": "other", "documents": [{"_id": 1}]})");
  EXPECT_EQ(Find("{}").batch, kBefore);
}

TEST_F(SnapshotTest, WhatNoShardKeepsIsTooOld) {
  const std::string now = Find("{}").time;
  Change();
  cluster_.s0.engine->snapshots().Expire(std::chrono::seconds(-1));
  const bson::Document reply =
      cluster_.Run(R"({"find": "c", "readConcern": {"level": "snapshot")" + now + "}}");
  EXPECT_EQ(reply["code"].AsInt32(), kSnapshotTooOld) << bson::ToJson(reply);
}

}  // namespace
}  // namespace quire::router
