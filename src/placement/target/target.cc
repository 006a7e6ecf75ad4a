// SPDX-License-Identifier: Apache-2.0
#include "placement/target/target.h"

#include <utility>

#include "base/try.h"
#include "quire/error.h"

namespace quire::placement {

std::string_view NameOf(TargetedBy by) {
  switch (by) {
    case TargetedBy::kKey:
      return "key";
    case TargetedBy::kSpans:
      return "spans";
    case TargetedBy::kEverything:
      return "everything";
    case TargetedBy::kNothing:
      return "nothing";
  }
  return "";
}

Targets TargetFilter(const ChunkMap& map, const expr::match::Node& filter,
                     const expr::Context& context) {
  Targets targets;
  targets.key = KeyOfFilter(map.pattern(), filter, context);
  if (targets.key.has_value()) {
    targets.by = TargetedBy::kKey;
    targets.shards.insert(map.Find(*targets.key).shard);
    return targets;
  }
  const auto spans = SpansOfFilter(map.pattern(), filter, context);
  if (!spans.has_value()) {
    targets.shards = map.shards();
    return targets;
  }
  targets.by = TargetedBy::kSpans;
  for (const KeySpan& span : *spans) {
    map.AddShards(span.low, span.high, &targets.shards);
  }
  if (targets.shards.empty()) {
    targets.by = TargetedBy::kNothing;
    targets.shards.insert(map.chunks().front()->shard);
  }
  return targets;
}

Result<ShardName> TargetInsert(const ChunkMap& map, bson::View document) {
  ASSIGN_OR_RETURN(ShardKey key, map.pattern().KeyOf(document));
  return map.Find(key).shard;
}

Result<WriteTargets> TargetWrite(const ChunkMap& map, const expr::match::Node& filter,
                                 const expr::Context& context, const WriteWish& wish) {
  WriteTargets write;
  write.targets = TargetFilter(map, filter, context);
  const bool has_key = write.targets.by == TargetedBy::kKey;
  if (wish.upsert && wish.multi && !has_key) {
    return Status(kShardKeyNotFound,
                  "Failed to target upsert by query :: could not extract exact shard key");
  }
  if (wish.multi) {
    write.way = write.targets.single() ? WriteWay::kDirect : WriteWay::kEach;
  } else if (has_key || (write.targets.single() && !wish.upsert)) {
    write.way = WriteWay::kDirect;
  } else {
    write.way = WriteWay::kTwoPhase;
  }
  return write;
}

std::string_view ReadStage(const Targets& targets, bool sorted) {
  if (targets.single()) {
    return "SINGLE_SHARD";
  }
  return sorted ? "SHARD_MERGE_SORT" : "SHARD_MERGE";
}

}  // namespace quire::placement
