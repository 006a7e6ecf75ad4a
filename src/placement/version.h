// SPDX-License-Identifier: Apache-2.0
//
// What routers and shards compare to find out that one of them knows less than the other.
#pragma once

#include <compare>
#include <cstdint>

#include "quire/bson.h"

namespace quire::placement {

// One life of a sharded collection under one key: sharding, refining, resharding, renaming and
// dropping begin a new one. Ordered by the time at which it began.
struct Generation {
  bson::ObjectId epoch;
  bson::Timestamp timestamp;

  friend bool operator==(const Generation&, const Generation&) = default;
  friend auto operator<=>(const Generation& a, const Generation& b) {
    return a.timestamp <=> b.timestamp;
  }
};

// As config.chunks shows it in `lastmod`. A move begins a new major, splits and merges count in
// minor.
struct ChunkVersion {
  uint32_t major = 0;
  uint32_t minor = 0;

  friend auto operator<=>(const ChunkVersion&, const ChunkVersion&) = default;
};

// The version of a collection on one shard, which every request to that shard names. Splits and
// merges leave it as it is: they change no document's place. An unsharded collection has one, too.
struct ShardVersion {
  bool sharded = false;
  Generation generation;
  uint32_t major = 0;  // of the last move that took from the shard or gave to it

  static ShardVersion Unsharded() { return {}; }

  friend bool operator==(const ShardVersion&, const ShardVersion&) = default;
  // Whether this version is known to be older. Between a sharded and an unsharded one nothing is
  // known: the answer is no in both directions.
  bool OlderThan(const ShardVersion& other) const {
    if (!sharded || !other.sharded) {
      return false;
    }
    return generation == other.generation ? major < other.major : generation < other.generation;
  }
};

}  // namespace quire::placement
