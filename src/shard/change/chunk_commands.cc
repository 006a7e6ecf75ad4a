// SPDX-License-Identifier: Apache-2.0
#include "shard/change/chunk_commands.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/number.h"
#include "placement/chunk_changes.h"
#include "quire/doc.h"
#include "request/fields.h"
#include "shard/change/chunk_writes.h"
#include "shard/change/journal.h"
#include "shard/change/keys_in_range.h"
#include "shard/change/run_change.h"

namespace quire::shard {

namespace {

using placement::ChunkPtr;

constexpr std::chrono::milliseconds kMedianTimeout{60'000};

// Writes until the store has answered: one that was lost and done all the same is known by the
// request that the lock names.
Status WriteOnce(Context& context, const coord::Transaction& transaction, const std::string& key,
                 const LockRecord& lock) {
  constexpr std::chrono::milliseconds kPause{100};
  constexpr int kMostTries = 100;
  Result<coord::Answer> answer = context.store.Transact(transaction);
  for (int i = 1; !answer.ok() && i < kMostTries && !context.stopping.load(); ++i) {
    std::this_thread::sleep_for(kPause);
    answer = context.store.Transact(transaction);
  }
  RETURN_IF_ERROR(answer.status());
  if (answer->done) {
    return Status::Ok();
  }
  if (const coord::Entry* entry = context.store.Find(*answer, key)) {
    ASSIGN_OR_RETURN(const LockRecord found, DecodeLock(entry->value));
    if (found.request == lock.request) {
      return Status::Ok();
    }
  }
  return {kConflictingOperationInProgress,
          "the chunks of " + std::string(NameOfId(lock.names.front())) + " changed meanwhile"};
}

// Writes the change of chunks unless another change of the collection is under way. `request`: the
// id of the client's that ends with it.
Status WriteChange(Context& context, const CollectionFacts& facts,
                   const placement::ChunkChange& change, std::string_view what,
                   const std::string& request) {
  const std::string id = CollectionId(facts.record.ns);
  const std::string key = LockKey(id);
  ASSIGN_OR_RETURN(const auto entry, context.store.Fact(key));
  LockRecord lock;
  if (entry) {
    ASSIGN_OR_RETURN(lock, DecodeLock(entry->value));
    if (!lock.lock.over) {
      return {kConflictingOperationInProgress,
              "another change of " + facts.record.ns + " is under way"};
    }
  } else {
    lock.owner = lock.primary = context.shard;
    lock.kind = what;
    lock.names = {id};
  }
  lock.request = request.empty() ? bson::ObjectId::Generate().ToHex() : request;
  lock.reply = bson::Document();
  coord::Transaction transaction;
  transaction.compares.push_back({key, entry ? entry->modified : 0});
  transaction.writes.push_back(coord::Put(key, Encode(lock)));
  RETURN_IF_ERROR(AddChunkWrites(facts, change, &transaction));
  if (!change.removed.empty()) {
    const bson::Document details = Doc("min", change.removed.front()->range.min.values, "max",
                                       change.removed.back()->range.max.values, "chunks",
                                       static_cast<int64_t>(change.added.size()));
    AddToJournal(context, what, facts.record.ns, details, &transaction);
  }
  Reach(context, what, "deciding");
  Status written = WriteOnce(context, transaction, key, lock);
  Reach(context, what, "ended");
  return written;
}

struct Bounds {
  bson::View min;
  bson::View max;
};
// {bounds: [min, max]}; nothing when it is not given.
Result<std::optional<Bounds>> ReadBounds(bson::View command) {
  const bson::Element given = command.Find("bounds");
  if (!given.present()) {
    return std::optional<Bounds>();
  }
  Bounds bounds;
  size_t count = 0;
  if (given.type() == bson::Type::kArray) {
    for (const bson::Element& e : given.value().AsArray()) {
      if (!e.value().is_document()) {
        return Status(kBadValue, "the bounds of a chunk are two keys");
      }
      (count++ == 0 ? bounds.min : bounds.max) = e.value().AsDocument();
    }
  }
  if (count != 2) {
    return Status(kBadValue, "the bounds of a chunk are two keys");
  }
  return std::optional(bounds);
}

// The one value that a query demands of a field, which it names with dots or nested; missing when
// it demands none.
bson::Value DemandedBy(bson::View query, std::string_view name) {
  bson::Value value = query[name];
  if (value.missing()) {
    bson::View at = query;
    std::string_view rest = name;
    for (size_t dot = rest.find('.'); dot != std::string_view::npos; dot = rest.find('.')) {
      const bson::Value inner = at[rest.substr(0, dot)];
      if (!inner.is_document()) {
        return {};
      }
      at = inner.AsDocument();
      rest.remove_prefix(dot + 1);
    }
    value = at[rest];
  }
  const bool holds_conditions = value.is_document() && !value.AsDocument().empty() &&
                                value.AsDocument().front().name().starts_with('$');
  if (!holds_conditions) {
    return value;
  }
  return value.AsDocument().Count() == 1 ? value.AsDocument()["$eq"] : bson::Value();
}

// The key of {find: {...}}, a query that demands one value of each of its fields.
Result<placement::ShardKey> KeyOfFind(const placement::ShardKeyPattern& pattern, bson::View find) {
  std::vector<bson::Value> values;
  for (const placement::ShardKeyPattern::Part& part : pattern.parts()) {
    values.push_back(DemandedBy(find, part.name()));
    if (values.back().missing() || values.back().is_array()) {
      return Status(kShardKeyNotFound, "no shard key found in chunk query");
    }
  }
  return pattern.KeyOfValues(values);
}

Result<bson::View> ReadDocument(bson::View command, std::string_view field) {
  const bson::Element given = command.Find(field);
  if (given.type() != bson::Type::kDocument) {
    return request::WrongType(command.front().name(), given, "object");
  }
  return given.value().AsDocument();
}

// The chunk that {find: ...} or {bounds: [...]} names; null when neither is given.
Result<ChunkPtr> ChunkOf(const placement::ChunkMap& map, bson::View command) {
  ASSIGN_OR_RETURN(const auto bounds, ReadBounds(command));
  if (bounds) {
    return placement::ChunkOfBounds(map, bounds->min, bounds->max);
  }
  if (command.Has("find")) {
    ASSIGN_OR_RETURN(const bson::View find, ReadDocument(command, "find"));
    ASSIGN_OR_RETURN(const placement::ShardKey key, KeyOfFind(map.pattern(), find));
    return map.chunks()[map.IndexOf(key)];
  }
  return ChunkPtr();
}

Result<placement::ShardRecord> FindShard(Context& context, const std::string& name) {
  ASSIGN_OR_RETURN(const auto shards, context.store.ReadShards());
  for (const placement::ShardRecord& shard : shards) {
    if (shard.name == name || shard.host == name) {
      return shard;
    }
  }
  return Status(kShardNotFound, "Could not find shard metadata for shard with id: " + name);
}

Result<placement::ChunkChange> SplitInTwo(Context& context, const CollectionFacts& facts,
                                          const placement::Chunk& chunk) {
  bson::Builder ask;
  ask.Append("_shardsvrMedian", facts.record.ns)
      .Append("key", facts.record.key)
      .Append("min", chunk.range.min.values)
      .Append("max", chunk.range.max.values)
      .Append("$db", "admin");
  const bson::Document command = ask.Finish();
  bson::Document reply;
  if (chunk.shard == context.shard) {
    ASSIGN_OR_RETURN(reply, FindMedian(context, command));
  } else {
    ASSIGN_OR_RETURN(const placement::ShardRecord owner, FindShard(context, chunk.shard));
    ASSIGN_OR_RETURN(reply, context.peers.Call(owner, command, kMedianTimeout));
  }
  if (bson::ClampedInt64(reply["count"]) == 0) {
    return Status(kInvalidOptions, "need to specify the desired max chunk size");
  }
  if (!reply["median"].is_document()) {
    return Status(kCannotSplit, "Unable to find median in chunk because chunk is indivisible.");
  }
  return placement::SplitChunk(*facts.map, chunk,
                               {placement::ShardKey::Of(reply["median"].AsDocument())});
}

}  // namespace

Result<CollectionFacts> ShardedFacts(Context& context, const std::string& ns) {
  ASSIGN_OR_RETURN(auto facts, context.store.ReadCollection(ns));
  if (!facts || facts->map == nullptr ||
      facts->record.state != placement::CollectionRecord::State::kLive) {
    return Status(kNamespaceNotSharded, "Collection " + ns + " is not sharded.");
  }
  return *std::move(facts);
}

Result<bson::Document> SplitCommand(Context& context, const std::string& ns, bson::View command) {
  ASSIGN_OR_RETURN(const CollectionFacts facts, ShardedFacts(context, ns));
  const int ways = static_cast<int>(command.Has("find")) + static_cast<int>(command.Has("bounds")) +
                   static_cast<int>(command.Has("middle"));
  if (ways != 1) {
    return Status(kOperationFailed, ways == 0
                                        ? "need to specify find/bounds or middle"
                                        : "cannot specify more than one of find, bounds, middle");
  }
  placement::ChunkChange change;
  if (command.Has("middle")) {
    ASSIGN_OR_RETURN(const bson::View middle, ReadDocument(command, "middle"));
    ASSIGN_OR_RETURN(change, placement::SplitChunk(*facts.map, middle));
  } else {
    ASSIGN_OR_RETURN(const ChunkPtr chunk, ChunkOf(*facts.map, command));
    ASSIGN_OR_RETURN(change, SplitInTwo(context, facts, *chunk));
  }
  for (const ChunkPtr& chunk : change.added) {
    RETURN_IF_ERROR(placement::CheckStorable(chunk->range.min));
  }
  RETURN_IF_ERROR(WriteChange(context, facts, change, "split", context.client.id));
  return bson::Document();
}

Result<bson::Document> MergeCommand(Context& context, const std::string& ns, bson::View command) {
  ASSIGN_OR_RETURN(const CollectionFacts facts, ShardedFacts(context, ns));
  ASSIGN_OR_RETURN(const auto bounds, ReadBounds(command));
  if (!bounds) {
    return Status(kBadValue, "no bounds were specified");
  }
  ASSIGN_OR_RETURN(const auto range,
                   placement::RangeOfBounds(*facts.map, bounds->min, bounds->max));
  ASSIGN_OR_RETURN(const auto change, placement::MergeChunks(*facts.map, range));
  if (!change.empty()) {
    RETURN_IF_ERROR(WriteChange(context, facts, change, "merge", context.client.id));
  }
  return bson::Document();
}

Result<bson::Document> MergeAllCommand(Context& context, const std::string& ns,
                                       bson::View command) {
  ASSIGN_OR_RETURN(CollectionFacts facts, ShardedFacts(context, ns));
  const bson::Value shard = command["shard"];
  if (!shard.is_string()) {
    return request::MissingField("mergeAllChunksOnShard", "shard");
  }
  ASSIGN_OR_RETURN(const auto record, FindShard(context, std::string(shard.AsString())));
  ASSIGN_OR_RETURN(const ZoneFacts zones, context.store.ReadZones(ns));
  const auto changes = placement::MergeAllOn(*facts.map, record.name, zones.zones);
  for (const placement::ChunkChange& change : changes) {
    // Whatever a repetition finds merged already, it goes on with the rest.
    RETURN_IF_ERROR(WriteChange(context, facts, change, "merge", ""));
    ASSIGN_OR_RETURN(facts, ShardedFacts(context, ns));
  }
  return bson::Document();
}

Result<bson::Document> ClearJumboCommand(Context& context, const std::string& ns,
                                         bson::View command) {
  ASSIGN_OR_RETURN(const CollectionFacts facts, ShardedFacts(context, ns));
  ASSIGN_OR_RETURN(const auto bounds, ReadBounds(command));
  ChunkPtr chunk;
  if (bounds) {
    const auto range = placement::RangeOfBounds(*facts.map, bounds->min, bounds->max);
    RETURN_IF_ERROR(range.status());
    chunk = facts.map->FindExact(*range);
    if (chunk == nullptr) {
      return Status(51261, "no chunk found with the shard key bounds " + range->ToString());
    }
  } else {
    ASSIGN_OR_RETURN(chunk, ChunkOf(*facts.map, command));
  }
  if (chunk == nullptr) {
    return Status(kInvalidOptions, "need to specify find or bounds");
  }
  if (chunk->jumbo) {
    auto cleared = std::make_shared<placement::Chunk>(*chunk);
    cleared->jumbo = false;
    RETURN_IF_ERROR(
        WriteChange(context, facts, {{chunk}, {cleared}, {}}, "clearJumboFlag", context.client.id));
  }
  return bson::Document();
}

Result<std::unique_ptr<Change>> PlanMove(Context& context, const std::string& ns,
                                         bson::View command) {
  const bool by_range = command.front().name() == "moveRange";
  const std::string_view to_field = by_range ? "toShard" : "to";
  const bson::Value to = command[to_field];
  if (!to.is_string()) {
    return request::MissingField(command.front().name(), to_field);
  }
  ASSIGN_OR_RETURN(const CollectionFacts facts, ShardedFacts(context, ns));
  ASSIGN_OR_RETURN(const auto target, FindShard(context, std::string(to.AsString())));
  placement::KeyRange range;
  if (by_range) {
    if (!command.Has("min") && !command.Has("max")) {
      return request::MissingField("moveRange", "min");
    }
    // A side that is not given is that of the chunk.
    const bool has_min = command.Has("min");
    ASSIGN_OR_RETURN(const bson::View given, ReadDocument(command, has_min ? "min" : "max"));
    const auto border = facts.map->pattern().BorderOf(given);
    if (!border) {
      return Status(kShardKeyNotFound, "the bounds of a range are shard keys");
    }
    range = {*border, *border};
    if (has_min && command.Has("max")) {
      ASSIGN_OR_RETURN(const bson::View max, ReadDocument(command, "max"));
      ASSIGN_OR_RETURN(range, placement::RangeOfBounds(*facts.map, given, max));
    } else if (has_min) {
      range.max = facts.map->Find(*border).range.max;
    } else {
      const auto& chunks = facts.map->chunks();
      const auto chunk = std::find_if(chunks.begin(), chunks.end(), [&](const ChunkPtr& one) {
        return one->range.min < *border && *border <= one->range.max;
      });
      if (chunk == chunks.end()) {
        return Status(kBadValue, "there is no range below that key");
      }
      range.min = (*chunk)->range.min;
    }
  } else {
    if (command.Has("find") == command.Has("bounds")) {
      return Status(kInvalidOptions, "need to specify either find or bounds");
    }
    ASSIGN_OR_RETURN(const ChunkPtr chunk, ChunkOf(*facts.map, command));
    range = chunk->range;
  }
  ASSIGN_OR_RETURN(const ZoneFacts zones, context.store.ReadZones(ns));
  const bson::Document note = bson::Builder().Append("msg", "moveRange").Append("ns", ns).Finish();
  ASSIGN_OR_RETURN(const bson::Timestamp now, context.log.Note(note));
  ASSIGN_OR_RETURN(const auto change,
                   placement::MoveRange(*facts.map, range, target.shard(), zones.zones, now));
  if (change.empty()) {
    return std::unique_ptr<Change>();
  }
  const store::CollectionPtr collection = context.engine.catalog().Find(ns);
  if (collection == nullptr) {
    return Status(kNamespaceNotFound, "ns does not exist: " + ns);
  }
  bson::Builder arguments;
  arguments.Append("ns", ns)
      .Append("key", facts.record.key)
      .Append("from", facts.map->Find(range.min).shard)
      .Append("to", target.name)
      .Append("min", range.min.values)
      .Append("max", range.max.values)
      .Append("now", now)
      .Append("description", Describe(*collection));
  return MakeMoveRange(arguments.Finish());
}

Result<bson::Document> FindMedian(Context& context, bson::View command) {
  const bson::Value name = command["_shardsvrMedian"];
  if (!name.is_string() || !command["key"].is_document() || !command["min"].is_document() ||
      !command["max"].is_document()) {
    return Status(kBadValue, "_shardsvrMedian takes a namespace, a key and two borders");
  }
  const std::string ns(name.AsString());
  ASSIGN_OR_RETURN(const auto pattern,
                   placement::ShardKeyPattern::Parse(command["key"].AsDocument()));
  const placement::KeyRange range = {placement::ShardKey::Of(command["min"].AsDocument()),
                                     placement::ShardKey::Of(command["max"].AsDocument())};
  // Documents are few where people split by hand.
  std::vector<placement::ShardKey> keys;
  RETURN_IF_ERROR(ReadKeysInRange(context, ns, pattern, range, [&](placement::ShardKey key) {
    keys.push_back(std::move(key));
    return true;
  }));
  std::sort(keys.begin(), keys.end());
  bson::Builder out;
  out.Append("count", static_cast<int64_t>(keys.size()));
  if (!keys.empty()) {
    // The first key from the middle on that is not the lowest.
    const auto median = std::upper_bound(keys.begin() + static_cast<ptrdiff_t>(keys.size() / 2),
                                         keys.end(), keys.front());
    const auto middle = keys.begin() + static_cast<ptrdiff_t>(keys.size() / 2);
    if (keys.front() < *middle) {
      out.Append("median", middle->values);
    } else if (median != keys.end()) {
      out.Append("median", median->values);
    }
  }
  return out.Finish();
}

}  // namespace quire::shard
