// SPDX-License-Identifier: Apache-2.0
#include "placement/layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "placement/testing/maps.h"
#include "quire/error.h"

namespace quire::placement {
namespace {

using testing::ElementsAre;

KeyRange Range(const ShardKeyPattern& pattern, std::string_view min, std::string_view max) {
  bson::Document low = bson::TestDocument(min);
  bson::Document high = bson::TestDocument(max);
  return *ZoneBorders("d.c", &pattern, low.view(), high.view());
}

class LayoutTest : public testing::Test {
 protected:
  LayoutTest() {
    wish_.primary = "s1";
    wish_.shards = {{"s0", {"A"}, false}, {"s1", {"B"}, false}};
  }
  void AddZone(const ShardKeyPattern& pattern, std::string_view min, std::string_view max,
               const std::string& zone) {
    ASSERT_TRUE(wish_.zones.Add({Range(pattern, min, max), zone}).ok());
  }
  std::vector<std::string> Lay(const ShardKeyPattern& pattern) {
    auto chunks = InitialLayout(pattern, wish_);
    if (!chunks.ok()) {
      return {std::to_string(chunks.status().code())};
    }
    EXPECT_TRUE(ChunkMap::Make(pattern, {}, *chunks, {}).ok());
    return TextOf(*chunks);
  }

  LayoutWish wish_;
};

TEST_F(LayoutTest, OneChunkOnThePrimary) {
  EXPECT_THAT(Lay(TestPattern("{x: 1}")), ElementsAre("[{ x: MinKey }, { x: MaxKey })s1"));
  EXPECT_THAT(Lay(TestPattern("{a: 1, h: 'hashed'}")),
              ElementsAre("[{ a: MinKey, h: MinKey }, { a: MaxKey, h: MaxKey })s1"));
  wish_.empty = false;
  EXPECT_THAT(Lay(TestPattern("{x: 'hashed'}")), ElementsAre("[{ x: MinKey }, { x: MaxKey })s1"));
}

TEST_F(LayoutTest, HashesAreSpread) {
  EXPECT_THAT(Lay(TestPattern("{h: 'hashed', a: 1}")),
              ElementsAre("[{ h: MinKey, a: MinKey }, { h: 0, a: MinKey })s0",
                          "[{ h: 0, a: MinKey }, { h: MaxKey, a: MaxKey })s1"));
  wish_.initial_chunks = 4;
  EXPECT_THAT(Lay(TestPattern("{h: 'hashed'}")),
              ElementsAre("[{ h: MinKey }, { h: -4611686018427387902 })s0",
                          "[{ h: -4611686018427387902 }, { h: 0 })s0",
                          "[{ h: 0 }, { h: 4611686018427387902 })s1",
                          "[{ h: 4611686018427387902 }, { h: MaxKey })s1"));
  wish_.shards[0].draining = true;
  wish_.initial_chunks.reset();
  EXPECT_THAT(Lay(TestPattern("{h: 'hashed'}")), ElementsAre("[{ h: MinKey }, { h: MaxKey })s1"));
}

TEST(HashBorders, AreEven) {
  EXPECT_THAT(HashBorders(1), ElementsAre());
  EXPECT_THAT(HashBorders(2), ElementsAre(0));
  EXPECT_THAT(HashBorders(3), ElementsAre(-3074457345618258602, 3074457345618258602));
  for (int64_t chunks = 1; chunks < 300; ++chunks) {
    auto borders = HashBorders(chunks);
    EXPECT_EQ(borders.size(), static_cast<size_t>(chunks - 1));
    EXPECT_TRUE(std::is_sorted(borders.begin(), borders.end()));
  }
}

TEST_F(LayoutTest, NumbersThatMakeNoSense) {
  wish_.initial_chunks = 4;
  EXPECT_THAT(Lay(TestPattern("{x: 1}")), ElementsAre("72"));
  EXPECT_THAT(Lay(TestPattern("{a: 1, x: 'hashed'}")), ElementsAre("72"));
  wish_.initial_chunks = 8192 * 2 + 1;
  EXPECT_THAT(Lay(TestPattern("{x: 'hashed'}")), ElementsAre("72"));
  wish_.initial_chunks = 4;
  wish_.empty = false;
  EXPECT_THAT(Lay(TestPattern("{x: 'hashed'}")), ElementsAre("72"));
}

TEST_F(LayoutTest, ZonesAndGaps) {
  const ShardKeyPattern pattern = TestPattern("{x: 1}");
  AddZone(pattern, "{x: 0}", "{x: 10}", "A");
  AddZone(pattern, "{x: 20}", "{x: 30}", "B");
  EXPECT_THAT(Lay(pattern), ElementsAre("[{ x: MinKey }, { x: 0 })s0", "[{ x: 0 }, { x: 10 })s0",
                                        "[{ x: 10 }, { x: 20 })s1", "[{ x: 20 }, { x: 30 })s1",
                                        "[{ x: 30 }, { x: MaxKey })s0"));
  AddZone(pattern, "{x: 40}", "{x: 50}", "nobody");
  EXPECT_THAT(Lay(pattern), ElementsAre("50973"));
}

TEST_F(LayoutTest, PresplitHashedZones) {
  const ShardKeyPattern hashed = TestPattern("{h: 'hashed'}");
  wish_.presplit_hashed_zones = true;
  EXPECT_THAT(Lay(hashed), ElementsAre("31387"));
  EXPECT_THAT(Lay(TestPattern("{x: 1}")), ElementsAre("31387"));
  AddZone(hashed, "{h: 0}", "{h: 10}", "A");
  EXPECT_THAT(Lay(hashed), ElementsAre("31412"));
  wish_.zones = {};
  AddZone(hashed, "{h: {$minKey: 1}}", "{h: {$maxKey: 1}}", "A");
  wish_.initial_chunks = 2;
  EXPECT_THAT(Lay(hashed),
              ElementsAre("[{ h: MinKey }, { h: 0 })s0", "[{ h: 0 }, { h: MaxKey })s0"));
}

TEST_F(LayoutTest, PresplitZonesBehindAPrefix) {
  const ShardKeyPattern pattern = TestPattern("{a: 1, h: 'hashed'}");
  wish_.presplit_hashed_zones = true;
  wish_.shards.push_back({"s2", {"A"}, false});
  AddZone(pattern, "{a: 1}", "{a: 2}", "A");
  AddZone(pattern, "{a: 2}", "{a: {$maxKey: 1}}", "B");
  EXPECT_THAT(Lay(pattern), ElementsAre("[{ a: MinKey, h: MinKey }, { a: 1, h: MinKey })s0",
                                        "[{ a: 1, h: MinKey }, { a: 1, h: 0 })s0",
                                        "[{ a: 1, h: 0 }, { a: 2, h: MinKey })s2",
                                        "[{ a: 2, h: MinKey }, { a: MaxKey, h: MaxKey })s1"));
  wish_.zones = {};
  AddZone(pattern, "{a: 1, h: 5}", "{a: 2, h: {$minKey: 1}}", "A");
  EXPECT_THAT(Lay(pattern), ElementsAre("31390"));
  wish_.zones = {};
  AddZone(pattern, "{a: 1, h: {$minKey: 1}}", "{a: 1, h: 5}", "A");
  EXPECT_THAT(Lay(pattern), ElementsAre("31390"));
}

TEST(Zones, OverlapAndTouch) {
  const ShardKeyPattern pattern = TestPattern("{x: 1}");
  auto range = [&](int min, int max) {
    return Range(pattern, "{x: " + std::to_string(min) + "}", "{x: " + std::to_string(max) + "}");
  };
  Zones zones;
  EXPECT_TRUE(zones.Add({range(10, 20), "A"}).ok());
  EXPECT_TRUE(zones.Add({range(0, 10), "B"}).ok());
  EXPECT_TRUE(zones.Add({range(20, 30), "B"}).ok());
  EXPECT_TRUE(zones.Add({range(10, 20), "A"}).ok());
  EXPECT_EQ(zones.ranges().size(), 3u);
  const KeyRange kOverlapping[] = {range(10, 20), range(5, 6), range(-5, 1), range(25, 40),
                                   range(-5, 40)};
  for (const KeyRange& overlapping : kOverlapping) {
    EXPECT_EQ(zones.Add({overlapping, "C"}).code(), kRangeOverlapConflict);
  }
  EXPECT_EQ(zones.ZoneOf(range(12, 20)), "A");
  EXPECT_EQ(zones.ZoneOf(range(12, 21)), std::nullopt);
  EXPECT_EQ(zones.ZoneOf(range(40, 41)), std::nullopt);
  EXPECT_FALSE(zones.Remove(range(10, 19)));
  EXPECT_TRUE(zones.Remove(range(10, 20)));
  EXPECT_EQ(zones.ZoneOf(range(12, 20)), std::nullopt);
}

TEST(Zones, Borders) {
  const ShardKeyPattern pattern = TestPattern("{x: 1, y: 1}");
  auto error = [&](std::string_view min, std::string_view max, bool sharded = true) {
    bson::Document low = bson::TestDocument(min);
    bson::Document high = bson::TestDocument(max);
    return ZoneBorders("d.c", sharded ? &pattern : nullptr, low.view(), high.view())
        .status()
        .code();
  };
  EXPECT_EQ(error("{x: 1}", "{x: 2}"), 0);
  EXPECT_EQ(error("{x: 1}", "{x: 1}"), kFailedToParse);
  EXPECT_EQ(error("{x: 1}", "{x: 1, y: 1}"), kFailedToParse);
  EXPECT_EQ(error("{y: 1}", "{y: 2}"), kShardKeyNotFound);
  EXPECT_EQ(error("{y: 1}", "{y: 2}", false), 0);
  EXPECT_EQ(error("{}", "{}", false), kFailedToParse);
}

}  // namespace
}  // namespace quire::placement
