// SPDX-License-Identifier: Apache-2.0
#include "placement/zones.h"

#include <algorithm>
#include <utility>

#include "base/try.h"
#include "bson/json/value_text.h"
#include "quire/error.h"

namespace quire::placement {

namespace {

bool SameNames(bson::View a, bson::View b) {
  return a.Count() == b.Count() &&
         std::equal(a.begin(), a.end(), b.begin(),
                    [](const auto& one, const auto& other) { return one.name() == other.name(); });
}

Result<ShardKey> Border(std::string_view which, std::string_view ns, const ShardKeyPattern* pattern,
                        bson::View border) {
  if (pattern == nullptr) {
    return ShardKey::Of(border);
  }
  std::optional<ShardKey> extended = pattern->ExtendBorder(border);
  if (!extended.has_value()) {
    return Status(kShardKeyNotFound, std::string(which) + ": " + bson::DocumentText(border) +
                                         " is not a prefix of the shard key " +
                                         pattern->ToString() + " of ns: " + std::string(ns));
  }
  return *std::move(extended);
}

// Zones do not overlap, so there is one place in their order.
auto FirstEndingAfter(const std::vector<ZoneRange>& ranges, const ShardKey& key) {
  return std::partition_point(ranges.begin(), ranges.end(),
                              [&](const ZoneRange& zone) { return zone.range.max <= key; });
}

}  // namespace

bool Shard::IsIn(std::string_view zone) const {
  return std::find(zones.begin(), zones.end(), zone) != zones.end();
}

Result<KeyRange> ZoneBorders(std::string_view ns, const ShardKeyPattern* pattern, bson::View min,
                             bson::View max) {
  if (min.empty() || max.empty() || !SameNames(min, max)) {
    return Status(kFailedToParse, "min: " + bson::DocumentText(min) + " and max: " +
                                      bson::DocumentText(max) + " must have the same fields");
  }
  KeyRange range;
  ASSIGN_OR_RETURN(range.min, Border("min", ns, pattern, min));
  ASSIGN_OR_RETURN(range.max, Border("max", ns, pattern, max));
  if (range.max <= range.min) {
    return Status(kFailedToParse, "min: " + bson::DocumentText(min) +
                                      " should be less than max: " + bson::DocumentText(max));
  }
  RETURN_IF_ERROR(CheckStorable(range.min));
  RETURN_IF_ERROR(CheckStorable(range.max));
  return range;
}

Status Zones::Add(ZoneRange added) {
  auto at = FirstEndingAfter(ranges_, added.range.min);
  if (at != ranges_.end() && *at == added) {
    return Status::Ok();
  }
  if (at != ranges_.end() && at->range.Overlaps(added.range)) {
    return Status(kRangeOverlapConflict,
                  "Zone range: " + added.range.ToString() + " on " + added.zone +
                      " is overlapping with existing: " + at->range.ToString() + " on " + at->zone);
  }
  ranges_.insert(at, std::move(added));
  return Status::Ok();
}

bool Zones::Remove(const KeyRange& range) {
  return std::erase_if(ranges_, [&](const ZoneRange& zone) { return zone.range == range; }) > 0;
}

std::optional<std::string> Zones::ZoneOf(const KeyRange& range) const {
  auto at = FirstEndingAfter(ranges_, range.min);
  if (at == ranges_.end() || !at->range.Contains(range)) {
    return std::nullopt;
  }
  return at->zone;
}

Status CheckZone(const Zones& zones, const KeyRange& range, const Shard& shard) {
  std::optional<std::string> zone = zones.ZoneOf(range);
  if (zone.has_value() && !shard.IsIn(*zone)) {
    return Status(kIllegalOperation, shard.name + " is not in the correct zone " + *zone);
  }
  return Status::Ok();
}

}  // namespace quire::placement
