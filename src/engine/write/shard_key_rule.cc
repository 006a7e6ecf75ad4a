// SPDX-License-Identifier: Apache-2.0
#include "engine/write/shard_key_rule.h"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

#include "base/error_codes.h"
#include "base/try.h"
#include "engine/sharding.h"

namespace quire::engine {

namespace {

bool StartsWithPath(std::string_view path, std::string_view start) {
  return path.starts_with(start) && (path.size() == start.size() || path[start.size()] == '.');
}

// Whether what was set or removed may be part of the key.
bool MayTouchKey(const placement::ShardKeyPattern& pattern, const expr::update::Outcome& outcome) {
  return outcome.all ||
         std::any_of(pattern.parts().begin(), pattern.parts().end(), [&](const auto& part) {
           return std::any_of(
               outcome.touched.begin(), outcome.touched.end(), [&](const std::string& path) {
                 return StartsWithPath(path, part.name()) || StartsWithPath(part.name(), path);
               });
         });
}

std::shared_ptr<const OwnedPlacement> PlacementOf(const store::CollectionInfo& info) {
  return RouterScope::Current() == nullptr ? nullptr : CurrentPlacement(info.ns());
}

Status OwnedByAnother(bson::View document, bool upsert) {
  bson::Builder extra;
  extra.Append("postImage", document).Append("shouldUpsert", upsert);
  return Status(kWouldChangeOwningShard, "The document belongs to another shard after the update")
      .WithExtra(extra.Finish().bytes());
}

}  // namespace

Status CheckKeyChange(const Operation& operation, const store::CollectionInfo& info, bool multi,
                      const expr::update::Outcome& outcome, bson::View before, bson::View after) {
  const std::shared_ptr<const OwnedPlacement> placement = PlacementOf(info);
  if (placement == nullptr || !MayTouchKey(placement->pattern, outcome)) {
    return Status::Ok();
  }
  const auto now = placement->pattern.KeyOf(after);
  if (!now.ok()) {
    return {kNotSingleValueField,
            "After applying the update to the document, a field of the shard key " +
                placement->pattern.ToString() + " was found to be an array or array descendant."};
  }
  const auto was = placement->pattern.KeyOf(before);
  if (was.ok() && *was == *now) {
    return Status::Ok();
  }
  if (multi) {
    return {kInvalidOptions,
            "Multi-update operations are not allowed when updating the shard key field."};
  }
  if (!operation.retryable && !operation.in_transaction) {
    return {kIllegalOperation,
            "Must run update to shard key field in a multi-statement transaction or with "
            "retryWrites: true."};
  }
  return placement->Owns(*now) ? Status::Ok() : OwnedByAnother(after, false);
}

Status CheckUpsertedKey(const store::CollectionInfo& info, bson::View document) {
  const std::shared_ptr<const OwnedPlacement> placement = PlacementOf(info);
  if (placement == nullptr) {
    return Status::Ok();
  }
  ASSIGN_OR_RETURN(const placement::ShardKey key, placement->pattern.KeyOf(document));
  return placement->Owns(key) ? Status::Ok() : OwnedByAnother(document, true);
}

}  // namespace quire::engine
