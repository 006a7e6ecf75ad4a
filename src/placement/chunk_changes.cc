// SPDX-License-Identifier: Apache-2.0
#include "placement/chunk_changes.h"

#include <utility>

#include "base/try.h"
#include "bson/json/value_text.h"
#include "quire/error.h"

namespace quire::placement {

namespace {

ChunkPtr Shared(Chunk chunk) { return std::make_shared<const Chunk>(std::move(chunk)); }

// A chunk's part, with the next minor version.
ChunkPtr Part(const Chunk& chunk, KeyRange range, ChunkVersion* version) {
  Chunk part = chunk;
  part.range = std::move(range);
  part.jumbo = false;
  ++version->minor;
  part.version = *version;
  return Shared(std::move(part));
}

// Chunks that lie side by side on one shard as one.
ChunkChange Merged(const ChunkMap& map, size_t first, size_t last) {
  ChunkChange change;
  for (size_t i = first; i <= last; ++i) {
    change.removed.push_back(map.chunks()[i]);
  }
  ChunkVersion version = map.version();
  change.added.push_back(Part(*map.chunks()[first],
                              {map.chunks()[first]->range.min, map.chunks()[last]->range.max},
                              &version));
  return change;
}

}  // namespace

Result<KeyRange> RangeOfBounds(const ChunkMap& map, bson::View min, bson::View max) {
  std::optional<ShardKey> low = map.pattern().BorderOf(min);
  std::optional<ShardKey> high = map.pattern().BorderOf(max);
  if (!low.has_value() || !high.has_value()) {
    return Status(kOperationFailed,
                  "shard key bounds [" + bson::DocumentText(min) + "," + bson::DocumentText(max) +
                      ") are not valid for shard key pattern " + map.pattern().ToString());
  }
  return KeyRange{*std::move(low), *std::move(high)};
}

Result<ChunkPtr> ChunkOfBounds(const ChunkMap& map, bson::View min, bson::View max) {
  ASSIGN_OR_RETURN(KeyRange range, RangeOfBounds(map, min, max));
  if (ChunkPtr chunk = map.FindExact(range)) {
    return chunk;
  }
  return Status(kOperationFailed, "no chunk found with the shard key bounds " + range.ToString());
}

Result<ChunkChange> SplitChunk(const ChunkMap& map, bson::View middle) {
  std::optional<ShardKey> point = map.pattern().BorderOf(middle);
  if (!point.has_value()) {
    return Status(kOperationFailed, "new split key " + bson::DocumentText(middle) +
                                        " is not valid for shard key pattern " +
                                        map.pattern().ToString());
  }
  RETURN_IF_ERROR(CheckStorable(*point));
  const Chunk& chunk = map.Find(*point);
  if (*point == chunk.range.min || *point == chunk.range.max) {
    return Status(kOperationFailed,
                  "new split key " + point->ToString() + " is a boundary key of existing chunk [" +
                      chunk.range.min.ToString() + "," + chunk.range.max.ToString() + ")");
  }
  return SplitChunk(map, chunk, {*std::move(point)});
}

ChunkChange SplitChunk(const ChunkMap& map, const Chunk& chunk,
                       const std::vector<ShardKey>& points) {
  ChunkChange change;
  change.removed.push_back(map.chunks()[map.IndexOf(chunk.range.min)]);
  ChunkVersion version = map.version();
  ShardKey begin = chunk.range.min;
  for (const ShardKey& point : points) {
    change.added.push_back(Part(chunk, {std::move(begin), point}, &version));
    begin = point;
  }
  change.added.push_back(Part(chunk, {std::move(begin), chunk.range.max}, &version));
  return change;
}

Result<ChunkChange> MergeChunks(const ChunkMap& map, const KeyRange& range) {
  const size_t first = map.IndexOf(range.min);
  const Chunks& chunks = map.chunks();
  const ShardName& shard = chunks[first]->shard;
  size_t last = first;
  while (last + 1 < chunks.size() && chunks[last]->range.max < range.max &&
         chunks[last + 1]->shard == shard) {
    ++last;
  }
  if (chunks[first]->range.min != range.min || chunks[last]->range.max != range.max) {
    return Status(kIllegalOperation,
                  "Failed to commit chunk merge :: caused by :: could not merge chunks, shard " +
                      shard +
                      " does not contain a sequence of chunks that exactly fills the "
                      "range " +
                      range.ToString());
  }
  return first == last ? ChunkChange() : Merged(map, first, last);
}

std::vector<ChunkChange> MergeAllOn(const ChunkMap& map, const ShardName& shard,
                                    const Zones& zones) {
  const Chunks& chunks = map.chunks();
  auto mergeable = [&](size_t i) { return chunks[i]->shard == shard && !chunks[i]->jumbo; };
  std::vector<ChunkChange> changes;
  for (size_t first = 0; first < chunks.size(); ++first) {
    if (!mergeable(first)) {
      continue;
    }
    size_t last = first;
    const auto zone = zones.ZoneOf(chunks[first]->range);
    while (last + 1 < chunks.size() && mergeable(last + 1) &&
           zones.ZoneOf(chunks[last + 1]->range) == zone) {
      ++last;
    }
    if (last > first) {
      changes.push_back(Merged(map, first, last));
    }
    first = last;
  }
  return changes;
}

Result<ChunkChange> MoveRange(const ChunkMap& map, const KeyRange& range, const Shard& to,
                              const Zones& zones, bson::Timestamp now) {
  const size_t at = map.IndexOf(range.min);
  const Chunk& chunk = *map.chunks()[at];
  if (range.max <= range.min || !chunk.range.Contains(range)) {
    return Status(kInvalidOptions, "the range " + range.ToString() +
                                       " does not lie within one chunk of the collection");
  }
  RETURN_IF_ERROR(CheckZone(zones, range, to));
  if (chunk.shard == to.name) {
    return ChunkChange();
  }
  ChunkChange change;
  change.removed.push_back(map.chunks()[at]);
  ChunkVersion version{map.version().major + 1, 0};
  Chunk moved = chunk;
  moved.range = range;
  moved.shard = to.name;
  moved.version = version;
  moved.history.insert(moved.history.begin(), {now, to.name});
  if (chunk.range.min < range.min) {
    change.added.push_back(Part(chunk, {chunk.range.min, range.min}, &version));
  }
  change.added.push_back(Shared(std::move(moved)));
  if (range.max < chunk.range.max) {
    change.added.push_back(Part(chunk, {range.max, chunk.range.max}, &version));
  }
  change.majors[chunk.shard] = version.major;
  change.majors[to.name] = version.major;
  return change;
}

}  // namespace quire::placement
