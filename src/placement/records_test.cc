// SPDX-License-Identifier: Apache-2.0
#include "placement/records.h"

#include <gtest/gtest.h>

#include "placement/chunk_changes.h"
#include "placement/testing/maps.h"
#include "quire/error.h"

namespace quire::placement {
namespace {

Uuid SomeUuid() {
  Uuid uuid{};
  uuid[0] = 0xff;
  uuid[15] = 7;
  return uuid;
}

TEST(Records, Keys) {
  EXPECT_EQ(KeyOfDatabase("Test"), KeyOfDatabase("tEST"));
  EXPECT_EQ(KeyOfShard("s0"), "shards/s0");
  EXPECT_EQ(KeyOfCollection("d.a/b"), "colls/d.a/b");
  const Generation generation{*bson::ObjectId::FromHex("0102030405060708090a0b0c"), {1, 1}};
  const std::string low = KeyOfBlock(generation, TestKey("{x: -5}"));
  const std::string high = KeyOfBlock(generation, TestKey("{x: 'a'}"));
  EXPECT_TRUE(low.starts_with("chunks/0102030405060708090a0b0c/"));
  EXPECT_LT(low, high);
  EXPECT_LT(KeyOfZone("d.c", TestKey("{x: 1}")), KeyOfZone("d.c", TestKey("{x: 2}")));
}

TEST(Records, ShardsComeBack) {
  const ShardRecord record{"s0", "rs0/a:1,b:2", 1, {9, 3}, {"NYC", "", "a.b$c"}, true};
  auto read = DecodeShard(Encode(record));
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ(*read, record);
}

TEST(Records, DatabasesComeBack) {
  for (auto state : {DatabaseRecord::State::kLive, DatabaseRecord::State::kDropping}) {
    const DatabaseRecord record{"Test", "s0", {SomeUuid(), {9, 3}, 4}, state};
    auto read = DecodeDatabase(Encode(record));
    ASSERT_TRUE(read.ok()) << read.status().ToString();
    EXPECT_EQ(*read, record);
  }
}

TEST(Records, CollectionsComeBack) {
  CollectionRecord record;
  record.ns = "d.c";
  record.uuid = SomeUuid();
  record.key = bson::TestDocument("{a: 1, 'b.c': 'hashed'}");
  record.unique = true;
  record.generation = {*bson::ObjectId::FromHex("0102030405060708090a0b0c"), {1, 1}};
  record.version = {0xffffffff, 7};
  record.majors = {{"s0", 3}, {"a.b", 0xffffffff}};
  record.layout = int64_t{1} << 40;
  record.no_balance = true;
  record.allow_migrations = false;
  record.auto_merge = false;
  record.default_collation = bson::TestDocument("{locale: 'fr'}");
  record.max_chunk_bytes = 128 << 20;
  record.state = CollectionRecord::State::kCreating;
  const std::string value = Encode(record);
  auto read = DecodeCollection(value);
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ(read->generation, record.generation);
  EXPECT_EQ(read->version, record.version);
  EXPECT_EQ(read->majors, record.majors);
  EXPECT_EQ(read->state, record.state);
  EXPECT_EQ(Encode(*read), value);
}

TEST(Records, SettingsAndZonesComeBack) {
  const SettingRecord setting{"chunksize", bson::TestDocument("{_id: 'chunksize', value: 64}")};
  auto read = DecodeSetting(Encode(setting));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->id, "chunksize");
  EXPECT_EQ(read->document.bytes(), setting.document.bytes());

  const ZoneRecord zone{"d.c", {{TestKey("{x: {$minKey: 1}}"), TestKey("{x: 1.5}")}, "z"}};
  auto zone_read = DecodeZone(Encode(zone));
  ASSERT_TRUE(zone_read.ok());
  EXPECT_EQ(*zone_read, zone);
}

TEST(Records, RefusesWhatIsNone) {
  EXPECT_EQ(DecodeShard("x").status().code(), kFailedToParse);
  EXPECT_EQ(DecodeShard("{}").status().code(), kFailedToParse);
  EXPECT_EQ(DecodeDatabase("{\"name\":\"d\",\"primary\":\"s\",\"version\":{},\"state\":\"live\"}")
                .status()
                .code(),
            kFailedToParse);
  EXPECT_EQ(DecodeBlock("{\"chunks\":[]}").status().code(), kFailedToParse);
  EXPECT_EQ(DecodeBlock("{\"chunks\":[1]}").status().code(), kFailedToParse);
  EXPECT_EQ(DecodeZone("{\"ns\":1}").status().code(), kFailedToParse);
  EXPECT_EQ(DecodeSetting("{\"value\":1}").status().code(), kFailedToParse);
}

ChunkMapPtr LargeMap(int chunks) {
  std::vector<std::string> points;
  for (int i = 1; i < chunks; ++i) {
    points.push_back("{x: " + std::to_string(i) + "}");
  }
  return TestMap("{x: 1}", points);
}

std::vector<ShardKey> StartsOf(const std::vector<ChunkBlock>& blocks) {
  std::vector<ShardKey> starts;
  for (const ChunkBlock& block : blocks) {
    starts.push_back(block.min());
  }
  return starts;
}

TEST(Blocks, KeepTheirLimits) {
  const auto blocks = DivideIntoBlocks(LargeMap(1000)->chunks());
  size_t chunks = 0;
  for (const ChunkBlock& block : blocks) {
    EXPECT_LE(block.chunks.size(), ChunkBlock::kMostChunks);
    const std::string value = Encode(block);
    EXPECT_LE(value.size(), ChunkBlock::kMostBytes);
    auto read = DecodeBlock(value);
    ASSERT_TRUE(read.ok()) << read.status().ToString();
    ASSERT_EQ(read->chunks.size(), block.chunks.size());
    for (size_t i = 0; i < block.chunks.size(); ++i) {
      EXPECT_EQ(*read->chunks[i], *block.chunks[i]);
    }
    chunks += block.chunks.size();
  }
  EXPECT_EQ(chunks, 1000u);
}

TEST(Blocks, OfAChangeAreFew) {
  ChunkMapPtr map = LargeMap(1000);
  const std::vector<ShardKey> starts = StartsOf(DivideIntoBlocks(map->chunks()));
  bson::Document middle = bson::TestDocument("{x: 5.5}");
  auto split = SplitChunk(*map, middle.view());
  ASSERT_TRUE(split.ok());
  BlockChange blocks = BlocksOfChange(*map->With(*split), starts, *split);
  EXPECT_LE(blocks.written.size(), 2u);
  EXPECT_TRUE(blocks.removed.empty());
  EXPECT_EQ(blocks.written.front().min(), starts.front());

  // A merge over the border of two blocks takes the second one's beginning away.
  ChunkMapPtr one = TestMap("{x: 1}", {"{x: 0}", "{x: 1}", "{x: 2}"}, {"s0"});
  auto merge = MergeChunks(*one, {TestKey("{x: 0}"), TestKey("{x: 2}")});
  ASSERT_TRUE(merge.ok());
  blocks = BlocksOfChange(*one->With(*merge), {one->pattern().Lowest(), TestKey("{x: 1}")}, *merge);
  ASSERT_EQ(blocks.written.size(), 1u);
  EXPECT_EQ(blocks.written.front().chunks.size(), 3u);
  ASSERT_EQ(blocks.removed.size(), 1u);
  EXPECT_EQ(blocks.removed.front(), TestKey("{x: 1}"));
}

}  // namespace
}  // namespace quire::placement
