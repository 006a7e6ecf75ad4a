// SPDX-License-Identifier: Apache-2.0
//
// Where the keys of a sharded collection lie: the routing table of routers and shards.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "placement/shard_key.h"
#include "placement/version.h"
#include "quire/bson.h"
#include "quire/status.h"

namespace quire::placement {

using ShardName = std::string;

// A range of keys on one shard.
struct Chunk {
  struct Stay {
    bson::Timestamp since;
    ShardName shard;

    friend bool operator==(const Stay&, const Stay&) = default;
  };

  KeyRange range;
  ShardName shard;
  ChunkVersion version;
  bool jumbo = false;
  std::vector<Stay> history;  // where it was since when, the latest first

  friend bool operator==(const Chunk&, const Chunk&) = default;
};
using ChunkPtr = std::shared_ptr<const Chunk>;
// In the order of their keys.
using Chunks = std::vector<ChunkPtr>;

// The last major of each shard that ever had a chunk.
using Majors = std::map<ShardName, uint32_t>;

// A change of a chunk map: what is taken away and what takes its place, both covering the same
// keys, and the majors that change with it.
struct ChunkChange {
  Chunks removed;
  Chunks added;
  Majors majors;

  bool empty() const { return added.empty(); }
};

// Immutable and safe for concurrent use; maps made of each other share their chunks.
class ChunkMap {
 public:
  // Error: ConflictingOperationInProgress when the chunks do not cover all keys exactly once, as
  // when they were read while they changed.
  static Result<std::shared_ptr<const ChunkMap>> Make(ShardKeyPattern pattern,
                                                      Generation generation, Chunks chunks,
                                                      Majors majors);
  // The map after the change. REQUIRES: `change` was made of this map.
  std::shared_ptr<const ChunkMap> With(const ChunkChange& change) const;

  const ShardKeyPattern& pattern() const { return pattern_; }
  const Generation& generation() const { return generation_; }
  const Chunks& chunks() const { return chunks_; }
  const Majors& majors() const { return majors_; }
  // The shards that own chunks.
  const std::set<ShardName>& shards() const { return shards_; }
  // The highest of all chunks.
  ChunkVersion version() const { return version_; }
  // What requests to the shard carry.
  ShardVersion VersionOf(const ShardName& shard) const;

  // The place in chunks() of the chunk that holds the key; MaxKey belongs to the last one.
  size_t IndexOf(const ShardKey& key) const;
  const Chunk& Find(const ShardKey& key) const { return *chunks_[IndexOf(key)]; }
  // The chunk with exactly this range; null when there is none.
  ChunkPtr FindExact(const KeyRange& range) const;
  // Adds the shards that own a key from `low` to `high`, both included.
  void AddShards(const ShardKey& low, const ShardKey& high, std::set<ShardName>* shards) const;
  // Whether the shard owns the key.
  bool Owns(const ShardName& shard, const ShardKey& key) const { return Find(key).shard == shard; }

 private:
  ChunkMap(ShardKeyPattern pattern, Generation generation)
      : pattern_(std::move(pattern)), generation_(generation) {}
  void Summarise();

  ShardKeyPattern pattern_;
  Generation generation_;
  Chunks chunks_;
  Majors majors_;
  std::set<ShardName> shards_;
  ChunkVersion version_;
};
using ChunkMapPtr = std::shared_ptr<const ChunkMap>;

}  // namespace quire::placement
