// SPDX-License-Identifier: Apache-2.0
//
// Zones: ranges of keys that belong to the shards with a tag.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "placement/chunk_map.h"
#include "placement/shard_key.h"
#include "quire/status.h"

namespace quire::placement {

// A shard as the rules of placement see it.
struct Shard {
  ShardName name;
  std::vector<std::string> zones;
  bool draining = false;

  bool IsIn(std::string_view zone) const;
};

struct ZoneRange {
  KeyRange range;
  std::string zone;

  friend bool operator==(const ZoneRange&, const ZoneRange&) = default;
};

// The border of a zone as updateZoneKeyRange gives it: extended to the whole key when the
// collection is sharded (`pattern` not null), as it is when not. Errors: ShardKeyNotFound when it
// is no prefix of the key, FailedToParse when min and max have different fields or are not in
// order.
Result<KeyRange> ZoneBorders(std::string_view ns, const ShardKeyPattern* pattern, bson::View min,
                             bson::View max);

// The zones of one collection, in the order of their keys; they do not overlap.
class Zones {
 public:
  const std::vector<ZoneRange>& ranges() const { return ranges_; }
  bool empty() const { return ranges_.empty(); }

  // Adding what is there changes nothing. Error: RangeOverlapConflict.
  Status Add(ZoneRange added);
  // Takes away the zone with exactly this range; false when there is none.
  bool Remove(const KeyRange& range);

  // The zone that all keys of the range belong to; nothing when there is none, or several.
  std::optional<std::string> ZoneOf(const KeyRange& range) const;

 private:
  std::vector<ZoneRange> ranges_;
};

// Whether the range may be moved to the shard. Error: IllegalOperation.
Status CheckZone(const Zones& zones, const KeyRange& range, const Shard& shard);

}  // namespace quire::placement
