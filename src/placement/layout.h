// SPDX-License-Identifier: Apache-2.0
//
// The chunks that a collection begins with when it is sharded.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "placement/chunk_map.h"
#include "placement/zones.h"
#include "quire/bson.h"
#include "quire/status.h"

namespace quire::placement {

struct LayoutWish {
  ShardName primary;                      // of the database: gets what nothing else places
  std::vector<Shard> shards;              // all of the cluster
  Zones zones;                            // of the collection
  bool empty = true;                      // the collection has no documents
  std::optional<int64_t> initial_chunks;  // numInitialChunks
  bool presplit_hashed_zones = false;
  bson::Timestamp now;
};

// One chunk; or, when the collection is empty, hashes divided evenly among the shards (one chunk
// each unless the wish names a number), and ranges along the borders of zones on shards of those.
// Shards that are being drained get nothing where others can have it.
//
// Errors: InvalidOptions for a number of chunks that makes no sense, 31387, 31390 and 31412 where
// zones do not allow presplitHashedZones, 50973 for a zone without a shard.
Result<Chunks> InitialLayout(const ShardKeyPattern& pattern, const LayoutWish& wish);

// The borders that divide the hashes into `chunks` equal parts, in order.
std::vector<int64_t> HashBorders(int64_t chunks);

}  // namespace quire::placement
