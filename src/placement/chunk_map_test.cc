// SPDX-License-Identifier: Apache-2.0
#include "placement/chunk_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "placement/chunk_changes.h"
#include "placement/testing/maps.h"
#include "quire/error.h"

namespace quire::placement {
namespace {

using testing::ElementsAre;

Result<ChunkChange> Split(const ChunkMapPtr& map, std::string_view middle) {
  bson::Document document = bson::TestDocument(middle);
  return SplitChunk(*map, document.view());
}

Result<ChunkChange> Merge(const ChunkMapPtr& map, std::string_view min, std::string_view max) {
  return MergeChunks(*map, {TestKey(min), TestKey(max)});
}

Result<ChunkChange> Move(const ChunkMapPtr& map, std::string_view min, std::string_view max,
                         const Shard& to, const Zones& zones = {}) {
  return MoveRange(*map, {TestKey(min), TestKey(max)}, to, zones, {9, 1});
}

TEST(ChunkMap, FindsKeys) {
  ChunkMapPtr map = TestMap("{x: 1}", {"{x: 0}", "{x: 10}"}, {"s0", "s1", "s2"});
  EXPECT_EQ(map->Find(TestKey("{x: -1}")).shard, "s0");
  EXPECT_EQ(map->Find(TestKey("{x: 0}")).shard, "s1");
  EXPECT_EQ(map->Find(TestKey("{x: 9.9}")).shard, "s1");
  EXPECT_EQ(map->Find(TestKey("{x: 'a'}")).shard, "s2");
  EXPECT_EQ(map->Find(TestKey("{x: {$minKey: 1}}")).shard, "s0");
  EXPECT_EQ(map->Find(TestKey("{x: {$maxKey: 1}}")).shard, "s2");
  std::set<ShardName> shards;
  map->AddShards(TestKey("{x: -5}"), TestKey("{x: 0}"), &shards);
  EXPECT_THAT(shards, ElementsAre("s0", "s1"));
}

TEST(ChunkMap, RefusesHolesAndOverlaps) {
  ChunkMapPtr map = TestMap("{x: 1}", {"{x: 0}", "{x: 10}"});
  auto make = [&](Chunks chunks) {
    return ChunkMap::Make(map->pattern(), map->generation(), std::move(chunks), {}).status().code();
  };
  const Chunks& chunks = map->chunks();
  EXPECT_EQ(make({}), kConflictingOperationInProgress);
  EXPECT_EQ(make({chunks[0], chunks[2]}), kConflictingOperationInProgress);
  EXPECT_EQ(make({chunks[0], chunks[1]}), kConflictingOperationInProgress);
  EXPECT_EQ(make({chunks[1], chunks[2]}), kConflictingOperationInProgress);
  EXPECT_EQ(make({chunks[0], chunks[0], chunks[1], chunks[2]}), kConflictingOperationInProgress);
  EXPECT_EQ(make(chunks), 0);
}

TEST(ChunkChanges, SplitLeavesVersionsThatAreCompared) {
  ChunkMapPtr map = TestMap("{x: 1}", {"{x: 0}"});
  auto change = Split(map, "{x: 5}");
  ASSERT_TRUE(change.ok());
  ChunkMapPtr after = map->With(*change);
  EXPECT_THAT(TextOf(after->chunks()),
              ElementsAre("[{ x: MinKey }, { x: 0 })s0", "[{ x: 0 }, { x: 5 })s1",
                          "[{ x: 5 }, { x: MaxKey })s1"));
  EXPECT_EQ(after->VersionOf("s1"), map->VersionOf("s1"));
  EXPECT_GT(after->version(), map->version());
  EXPECT_EQ(map->chunks().size(), 2u);
}

TEST(ChunkChanges, SplitErrors) {
  ChunkMapPtr map = TestMap("{x: 1}", {"{x: 0}"});
  EXPECT_EQ(Split(map, "{x: 0}").status().message(),
            "new split key { x: 0 } is a boundary key of existing chunk [{ x: 0 },{ x: MaxKey })");
  EXPECT_EQ(
      Split(map, "{x: {$minKey: 1}}").status().message(),
      "new split key { x: MinKey } is a boundary key of existing chunk [{ x: MinKey },{ x: 0 })");
  EXPECT_FALSE(Split(map, "{x: {$maxKey: 1}}").ok());
  EXPECT_EQ(Split(map, "{y: 1}").status().message(),
            "new split key { y: 1 } is not valid for shard key pattern { x: 1 }");
}

TEST(ChunkChanges, Bounds) {
  ChunkMapPtr map = TestMap("{x: 1}", {"{x: 0}"});
  bson::Document low = bson::TestDocument("{x: 1}");
  bson::Document zero = bson::TestDocument("{x: 0}");
  bson::Document high = bson::TestDocument("{x: {$maxKey: 1}}");
  bson::Document other = bson::TestDocument("{y: 1}");
  EXPECT_EQ(ChunkOfBounds(*map, low.view(), high.view()).status().message(),
            "no chunk found with the shard key bounds [{ x: 1 }, { x: MaxKey })");
  EXPECT_EQ(ChunkOfBounds(*map, other.view(), high.view()).status().message(),
            "shard key bounds [{ y: 1 },{ x: MaxKey }) are not valid for shard key pattern "
            "{ x: 1 }");
  EXPECT_EQ((*ChunkOfBounds(*map, zero.view(), high.view()))->shard, "s1");
}

TEST(ChunkChanges, Merge) {
  ChunkMapPtr map = TestMap("{x: 1}", {"{x: -10}", "{x: 0}", "{x: 10}"}, {"s0", "s0", "s1", "s1"});
  auto change = Merge(map, "{x: {$minKey: 1}}", "{x: 0}");
  ASSERT_TRUE(change.ok());
  EXPECT_THAT(TextOf(map->With(*change)->chunks()),
              ElementsAre("[{ x: MinKey }, { x: 0 })s0", "[{ x: 0 }, { x: 10 })s1",
                          "[{ x: 10 }, { x: MaxKey })s1"));
  EXPECT_TRUE(Merge(map, "{x: -10}", "{x: 0}")->empty());
  auto refused = Merge(map, "{x: -10}", "{x: 10}");
  EXPECT_EQ(refused.status().code(), kIllegalOperation);
  EXPECT_EQ(
      refused.status().message(),
      "Failed to commit chunk merge :: caused by :: could not merge chunks, shard s0 does "
      "not contain a sequence of chunks that exactly fills the range [{ x: -10 }, { x: 10 })");
  EXPECT_FALSE(Merge(map, "{x: -5}", "{x: 0}").ok());
  EXPECT_FALSE(Merge(map, "{x: 0}", "{x: 20}").ok());
}

TEST(ChunkChanges, MergeAllStopsAtZonesAndJumbo) {
  ChunkMapPtr map = TestMap("{x: 1}", {"{x: 0}", "{x: 5}", "{x: 10}", "{x: 15}", "{x: 20}"},
                            {"s0", "s0", "s0", "s0", "s1", "s0"});
  Zones zones;
  ASSERT_TRUE(zones.Add({{TestKey("{x: 5}"), TestKey("{x: 15}")}, "z"}).ok());
  auto changes = MergeAllOn(*map, "s0", zones);
  ASSERT_EQ(changes.size(), 2u);
  EXPECT_THAT(TextOf(changes[0].added), ElementsAre("[{ x: MinKey }, { x: 5 })s0"));
  EXPECT_THAT(TextOf(changes[1].added), ElementsAre("[{ x: 5 }, { x: 15 })s0"));
  ChunkMapPtr after = map->With(changes[1])->With(changes[0]);
  EXPECT_EQ(after->chunks().size(), 4u);
}

TEST(ChunkChanges, MoveRaisesMajorsOfBothShards) {
  ChunkMapPtr map = TestMap("{x: 1}", {"{x: 0}", "{x: 10}"}, {"s0", "s1", "s2"});
  auto change = Move(map, "{x: 2}", "{x: 4}", {"s0", {}, false});
  ASSERT_TRUE(change.ok());
  ChunkMapPtr after = map->With(*change);
  EXPECT_THAT(
      TextOf(after->chunks()),
      ElementsAre("[{ x: MinKey }, { x: 0 })s0", "[{ x: 0 }, { x: 2 })s1", "[{ x: 2 }, { x: 4 })s0",
                  "[{ x: 4 }, { x: 10 })s1", "[{ x: 10 }, { x: MaxKey })s2"));
  EXPECT_EQ(after->VersionOf("s0").major, 2u);
  EXPECT_EQ(after->VersionOf("s1").major, 2u);
  EXPECT_EQ(after->VersionOf("s2").major, 1u);
  EXPECT_TRUE(map->VersionOf("s0").OlderThan(after->VersionOf("s0")));
  EXPECT_EQ(after->Find(TestKey("{x: 3}")).history.front().since.seconds, 9u);
}

TEST(ChunkChanges, AShardThatGaveAllAwayStillHasAMajor) {
  ChunkMapPtr map = TestMap("{x: 1}", {"{x: 0}"});
  auto change = Move(map, "{x: 0}", "{x: {$maxKey: 1}}", {"s0", {}, false});
  ChunkMapPtr after = map->With(*change);
  EXPECT_THAT(after->shards(), ElementsAre("s0"));
  EXPECT_EQ(after->VersionOf("s1").major, 2u);
}

TEST(ChunkChanges, MoveErrors) {
  ChunkMapPtr map = TestMap("{x: 1}", {"{x: 0}"});
  EXPECT_TRUE(Move(map, "{x: 0}", "{x: {$maxKey: 1}}", {"s1", {}, false})->empty());
  EXPECT_EQ(Move(map, "{x: -1}", "{x: 1}", {"s1", {}, false}).status().code(), kInvalidOptions);
  Zones zones;
  ASSERT_TRUE(zones.Add({{TestKey("{x: {$minKey: 1}}"), TestKey("{x: 0}")}, "gzA"}).ok());
  auto refused = Move(map, "{x: {$minKey: 1}}", "{x: 0}", {"s1", {}, false}, zones);
  EXPECT_EQ(refused.status().code(), kIllegalOperation);
  EXPECT_EQ(refused.status().message(), "s1 is not in the correct zone gzA");
  EXPECT_TRUE(Move(map, "{x: {$minKey: 1}}", "{x: 0}", {"s1", {"gzA"}, false}, zones).ok());
}

TEST(ShardVersion, ShardedAndUnshardedAreNotOrdered) {
  const ShardVersion sharded{true, {bson::ObjectId(), {1, 1}}, 1};
  EXPECT_FALSE(sharded.OlderThan(ShardVersion::Unsharded()));
  EXPECT_FALSE(ShardVersion::Unsharded().OlderThan(sharded));
  EXPECT_NE(sharded, ShardVersion::Unsharded());
}

}  // namespace
}  // namespace quire::placement
