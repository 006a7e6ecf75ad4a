// SPDX-License-Identifier: Apache-2.0
//
// Splitting, merging and moving chunks: from a map and a wish to the change of the map, or
// MongoDB's error. Nothing here looks at documents.
//
// Where MongoDB answers with a message and no code the code is OperationFailed.
#pragma once

#include "placement/chunk_map.h"
#include "placement/zones.h"
#include "quire/bson.h"
#include "quire/status.h"

namespace quire::placement {

// The borders of a chunk as a command names them ({bounds: [min, max]}). Error: OperationFailed
// when they are no keys.
Result<KeyRange> RangeOfBounds(const ChunkMap& map, bson::View min, bson::View max);
// The chunk with those borders. Error: OperationFailed.
Result<ChunkPtr> ChunkOfBounds(const ChunkMap& map, bson::View min, bson::View max);

// The chunk that holds `middle` becomes two. Error: OperationFailed when it is no key or a border
// already.
Result<ChunkChange> SplitChunk(const ChunkMap& map, bson::View middle);
// A chunk cut at each of the points within it, which are in order.
ChunkChange SplitChunk(const ChunkMap& map, const Chunk& chunk,
                       const std::vector<ShardKey>& points);

// The chunks of one shard that fill the range become one; a single one stays as it is. Error:
// IllegalOperation when they do not.
Result<ChunkChange> MergeChunks(const ChunkMap& map, const KeyRange& range);
// Every run of neighbours on the shard becomes one chunk each; those that lie across the border of
// a zone, or are jumbo, stay.
std::vector<ChunkChange> MergeAllOn(const ChunkMap& map, const ShardName& shard,
                                    const Zones& zones);

// The range, which lies within one chunk, goes to the shard at the time `now`; the rest of the
// chunk stays. An empty change when it is there already. Errors: IllegalOperation when the zone
// forbids it, InvalidOptions when the range lies in several chunks.
Result<ChunkChange> MoveRange(const ChunkMap& map, const KeyRange& range, const Shard& to,
                              const Zones& zones, bson::Timestamp now);

}  // namespace quire::placement
