// SPDX-License-Identifier: Apache-2.0
#include "placement/chunk_map.h"

#include <algorithm>
#include <utility>

#include "quire/error.h"

namespace quire::placement {

namespace {

Status Gap(const std::string& what) {
  return Status(kConflictingOperationInProgress, "the chunks do not cover the key space: " + what);
}

Status CheckCover(const ShardKeyPattern& pattern, const Chunks& chunks) {
  if (chunks.empty()) {
    return Gap("there are none");
  }
  ShardKey expected = pattern.Lowest();
  for (const ChunkPtr& chunk : chunks) {
    if (chunk->range.min != expected || chunk->range.max <= chunk->range.min) {
      return Gap("at " + chunk->range.ToString());
    }
    expected = chunk->range.max;
  }
  return expected == pattern.Highest() ? Status::Ok() : Gap("they end at " + expected.ToString());
}

}  // namespace

Result<ChunkMapPtr> ChunkMap::Make(ShardKeyPattern pattern, Generation generation, Chunks chunks,
                                   Majors majors) {
  if (Status covered = CheckCover(pattern, chunks); !covered.ok()) {
    return covered;
  }
  std::shared_ptr<ChunkMap> map(new ChunkMap(std::move(pattern), generation));
  map->chunks_ = std::move(chunks);
  map->majors_ = std::move(majors);
  map->Summarise();
  return ChunkMapPtr(std::move(map));
}

ChunkMapPtr ChunkMap::With(const ChunkChange& change) const {
  std::shared_ptr<ChunkMap> map(new ChunkMap(pattern_, generation_));
  map->chunks_ = chunks_;
  map->majors_ = majors_;
  if (!change.empty()) {
    const auto first = map->chunks_.begin() +
                       static_cast<std::ptrdiff_t>(IndexOf(change.removed.front()->range.min));
    const auto behind =
        map->chunks_.erase(first, first + static_cast<std::ptrdiff_t>(change.removed.size()));
    map->chunks_.insert(behind, change.added.begin(), change.added.end());
  }
  for (const auto& [shard, major] : change.majors) {
    map->majors_[shard] = major;
  }
  map->Summarise();
  return map;
}

void ChunkMap::Summarise() {
  for (const ChunkPtr& chunk : chunks_) {
    version_ = std::max(version_, chunk->version);
    shards_.insert(chunk->shard);
    uint32_t& major = majors_[chunk->shard];
    major = std::max(major, chunk->version.major);
  }
}

ShardVersion ChunkMap::VersionOf(const ShardName& shard) const {
  auto found = majors_.find(shard);
  return {true, generation_, found == majors_.end() ? 0 : found->second};
}

size_t ChunkMap::IndexOf(const ShardKey& key) const {
  auto above = std::upper_bound(
      chunks_.begin() + 1, chunks_.end(), key,
      [](const ShardKey& wanted, const ChunkPtr& chunk) { return wanted < chunk->range.min; });
  return static_cast<size_t>(above - chunks_.begin()) - 1;
}

ChunkPtr ChunkMap::FindExact(const KeyRange& range) const {
  const ChunkPtr& chunk = chunks_[IndexOf(range.min)];
  return chunk->range == range ? chunk : nullptr;
}

void ChunkMap::AddShards(const ShardKey& low, const ShardKey& high,
                         std::set<ShardName>* shards) const {
  const size_t last = IndexOf(high);
  for (size_t i = IndexOf(low); i <= last && shards->size() < shards_.size(); ++i) {
    shards->insert(chunks_[i]->shard);
  }
}

}  // namespace quire::placement
