// SPDX-License-Identifier: Apache-2.0
//
// Chunk maps written the short way, for tests.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bson/testing/json.h"
#include "placement/chunk_map.h"

namespace quire::placement {

inline ShardKeyPattern TestPattern(std::string_view text) {
  bson::Document document = bson::TestDocument(text);
  auto pattern = ShardKeyPattern::Parse(document.view());
  EXPECT_TRUE(pattern.ok()) << text << ": " << pattern.status().ToString();
  return *pattern;
}

inline ShardKey TestKey(std::string_view text) {
  bson::Document document = bson::TestDocument(text);
  return ShardKey::Of(document.view());
}

// Chunks that end at the points, on the owners in turns.
inline ChunkMapPtr TestMap(std::string_view key, const std::vector<std::string>& points,
                           const std::vector<std::string>& owners = {"s0", "s1"}) {
  ShardKeyPattern pattern = TestPattern(key);
  Chunks chunks;
  ShardKey begin = pattern.Lowest();
  for (size_t i = 0; i <= points.size(); ++i) {
    Chunk chunk;
    ShardKey end = i < points.size() ? TestKey(points[i]) : pattern.Highest();
    chunk.range = {std::move(begin), end};
    begin = std::move(end);
    chunk.shard = owners[i % owners.size()];
    chunk.version = {1, static_cast<uint32_t>(i)};
    chunk.history = {{{5, 1}, chunk.shard}};
    chunks.push_back(std::make_shared<const Chunk>(std::move(chunk)));
  }
  auto map = ChunkMap::Make(pattern, {bson::ObjectId(), {7, 1}}, std::move(chunks), {});
  EXPECT_TRUE(map.ok()) << map.status().ToString();
  return *map;
}

// "[min, max)shard" of each chunk.
inline std::vector<std::string> TextOf(const Chunks& chunks) {
  std::vector<std::string> text;
  for (const ChunkPtr& chunk : chunks) {
    text.push_back(chunk->range.ToString() + chunk->shard);
  }
  return text;
}

}  // namespace quire::placement
