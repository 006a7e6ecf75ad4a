// SPDX-License-Identifier: Apache-2.0
#include "shard/change/change.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/compare.h"
#include "bson/number.h"

namespace quire::shard {

bool Change::Blocks(const std::string&, const std::string&) const { return false; }
Status Change::Check(Context&, const std::vector<placement::ShardRecord>&) { return Status::Ok(); }
void Change::Prepared(const std::string&, bson::View) {}
Status Change::Decide(Context&, coord::Transaction*) { return Status::Ok(); }
Status Change::Decided(Context&) { return Status::Ok(); }
std::optional<NameOutcome> Change::Outcome(const std::string&, const std::string&) const {
  return std::nullopt;
}
void Change::Finished(const std::string&, bson::View) {}
Status Change::Clean(Context&, bool, coord::Transaction*) { return Status::Ok(); }
void Change::AddToJournal(Context&, coord::Transaction*) const {}
Result<bson::Document> Change::Reply() const { return bson::Document(); }

std::string Change::Text(std::string_view field) const {
  const bson::Value value = arguments_[field];
  return value.is_string() ? std::string(value.AsString()) : std::string();
}

void Change::Set(std::string_view field, const bson::Value& value) {
  bson::Builder out;
  for (const bson::Element& e : arguments_.view()) {
    if (e.name() != field) {
      out.Append(e);
    }
  }
  out.Append(field, value);
  arguments_ = out.Finish();
}

Status Part::Prepare(Context&, const StepRequest&, Traces&, bson::Builder*) const {
  return Status::Ok();
}
Status Part::Commit(Context&, const StepRequest&, bson::Builder*) const { return Status::Ok(); }
Status Part::Undo(Context&, const StepRequest&, bson::View) const { return Status::Ok(); }

std::string_view StepRequest::Text(std::string_view field) const {
  const bson::Value value = arguments[field];
  return value.is_string() ? value.AsString() : std::string_view();
}

bson::Document Encode(const StepRequest& step) {
  bson::Builder out;
  out.Append("_shardsvrStep", step.kind).Append("phase", static_cast<int32_t>(step.phase));
  out.Append("arguments", step.arguments);
  out.Append("limit", static_cast<int64_t>(step.limit.count())).Append("tells", step.tells);
  out.BeginArray("names");
  for (const StepRequest::Name& name : step.names) {
    out.PushDocument()
        .Append("id", name.id)
        .Append("number", static_cast<int64_t>(name.step.stamp.number))
        .Append("attempt", static_cast<int64_t>(name.step.stamp.attempt))
        .Append("blocks", name.step.blocks);
    if (name.step.placed) {
      AppendPlaced("placed", *name.step.placed, name.key, &out);
    }
    out.End();
  }
  out.End().Append("$db", "admin");
  return out.Finish();
}

Result<StepRequest> DecodeStep(bson::View document) {
  const Status malformed(kFailedToParse, "malformed step of a change");
  StepRequest step;
  const bson::Value phase = document["phase"];
  if (!document["_shardsvrStep"].is_string() || !phase.is_number() ||
      !document["arguments"].is_document() || !document["names"].is_array()) {
    return malformed;
  }
  step.kind = std::string(document["_shardsvrStep"].AsString());
  step.phase = static_cast<Phase>(bson::ClampedInt64(phase));
  step.arguments = bson::Document(document["arguments"].AsDocument());
  if (const bson::Value limit = document["limit"]; limit.is_number()) {
    step.limit = std::chrono::milliseconds(bson::ClampedInt64(limit));
  }
  const bson::Value tells = document["tells"];
  step.tells = tells.type() == bson::Type::kBool && tells.AsBool();
  for (const bson::Element& e : document["names"].AsArray()) {
    if (!e.value().is_document()) {
      return malformed;
    }
    const bson::View fields = e.value().AsDocument();
    if (!fields["id"].is_string() || !fields["number"].is_number() ||
        !fields["attempt"].is_number() || fields["blocks"].type() != bson::Type::kBool) {
      return malformed;
    }
    StepRequest::Name name;
    name.id = std::string(fields["id"].AsString());
    name.step.stamp = {static_cast<uint64_t>(bson::ClampedInt64(fields["number"])),
                       static_cast<uint64_t>(bson::ClampedInt64(fields["attempt"]))};
    name.step.phase = step.phase;
    name.step.blocks = fields["blocks"].AsBool();
    if (const bson::Value placed = fields["placed"]; placed.is_document()) {
      ASSIGN_OR_RETURN(name.step.placed, ReadPlaced(placed.AsDocument()));
      if (const bson::Value key = placed.AsDocument()["key"]; key.is_document()) {
        name.key = bson::Document(key.AsDocument());
      }
    }
    step.names.push_back(std::move(name));
  }
  return step;
}

namespace {

// All kinds of changes.
struct Kind {
  std::string_view name;
  std::unique_ptr<Change> (*make)(bson::Document arguments);
  const Part& (*part)();
};
constexpr Kind kKinds[] = {
    {"shardCollection", MakeShardCollection, ShardCollectionPart},
    {"drop", MakeDropCollection, DropCollectionPart},
    {"moveRange", MakeMoveRange, MoveRangePart},
    {"createIndexes", MakeCreateIndexes, CreateIndexesPart},
    {"applyToAll", MakeApplyToAll, ApplyToAllPart},
    {"dropDatabase", MakeDropDatabase, DropDatabasePart},
    {"renameCollection", MakeRenameCollection, RenameCollectionPart},
};

const Kind* FindKind(std::string_view name) {
  const auto* found = std::find_if(std::begin(kKinds), std::end(kKinds),
                                   [&](const Kind& kind) { return kind.name == name; });
  return found == std::end(kKinds) ? nullptr : found;
}

}  // namespace

std::unique_ptr<Change> MakeChange(std::string_view kind, bson::Document arguments) {
  const Kind* found = FindKind(kind);
  return found == nullptr ? nullptr : found->make(std::move(arguments));
}

const Part* FindPart(std::string_view kind) {
  const Kind* found = FindKind(kind);
  return found == nullptr ? nullptr : &found->part();
}

Placed PlacedOn(const placement::ChunkMap& map, const std::string& shard) {
  Placed placed;
  placed.version = map.VersionOf(shard);
  for (const placement::ChunkPtr& chunk : map.chunks()) {
    if (chunk->shard != shard) {
      continue;
    }
    if (!placed.owned.empty() && placed.owned.back().max == chunk->range.min) {
      placed.owned.back().max = chunk->range.max;
    } else {
      placed.owned.push_back(chunk->range);
    }
  }
  return placed;
}

NameOutcome OutcomeOn(const placement::ChunkMap& map, const std::string& shard) {
  return {PlacedOn(map, shard), bson::Document(map.pattern().document())};
}

Result<placement::ChunkMapPtr> ReadMap(Context& context, const std::string& ns) {
  ASSIGN_OR_RETURN(const auto facts, context.store.ReadCollection(ns));
  if (!facts || facts->map == nullptr) {
    return Status(kNamespaceNotSharded, "the collection is not in the coordination store");
  }
  return facts->map;
}

Status DeleteAll(Context& context, std::string_view prefix, coord::Transaction* end) {
  constexpr size_t kPerTransaction = 100;
  ASSIGN_OR_RETURN(auto entries, context.store.List(prefix));
  // A transaction writes a key once.
  std::erase_if(entries, [&](const coord::Entry& entry) {
    return std::any_of(end->writes.begin(), end->writes.end(),
                       [&](const coord::Write& write) { return write.key == entry.key; });
  });
  size_t left = entries.size();
  size_t at = 0;
  while (left > 0 && left + end->writes.size() > kPerTransaction / 2) {
    coord::Transaction part;
    const size_t count = std::min(left, kPerTransaction);
    for (size_t i = 0; i < count; ++i) {
      part.writes.push_back(coord::Delete(entries[at++].key));
    }
    left -= count;
    RETURN_IF_ERROR(context.store.Transact(std::move(part)).status());
  }
  for (; at < entries.size(); ++at) {
    end->writes.push_back(coord::Delete(entries[at].key));
  }
  return Status::Ok();
}

bool SupportsKey(const store::IndexInfo& index, const placement::ShardKeyPattern& pattern) {
  if (index.sparse || index.partial_filter != nullptr || index.collator != nullptr ||
      index.multikey() || index.hidden) {
    return false;
  }
  auto field = index.key_pattern.view().begin();
  const auto end = index.key_pattern.view().end();
  for (const placement::ShardKeyPattern::Part& part : pattern.parts()) {
    if (field == end || field->name() != part.name()) {
      return false;
    }
    const bson::Value value = field->value();
    const bool hashed = value.is_string() && value.AsString() == "hashed";
    const bool ascending = value.is_number() && bson::ToDouble(value) > 0;
    if (part.hashed ? !hashed : !ascending) {
      return false;
    }
    ++field;
  }
  return true;
}

}  // namespace quire::shard
