// SPDX-License-Identifier: Apache-2.0
//
// renameCollection of a sharded collection, within its database. Arguments: {from, to, uuid,
// dropTarget, generation, before: generation, description}, and from the decision on {dropped:
// generation of a sharded target, staleZones: keys of the target's that the source has none of}.
#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/error_codes.h"
#include "base/try.h"
#include "placement/version_fields.h"
#include "shard/change/change.h"
#include "shard/change/journal.h"

namespace quire::shard {

namespace {

placement::Generation GenerationIn(bson::View arguments, std::string_view field) {
  const auto version = placement::ReadShardVersion(arguments[field]);
  return version ? version->generation : placement::Generation();
}

class RenameCollection final : public Change {
 public:
  using Change::Change;
  std::string_view kind() const override { return "renameCollection"; }
  std::vector<std::string> names() const override {
    return {CollectionId(Text("from")), CollectionId(Text("to"))};
  }
  bool Blocks(const std::string&, const std::string&) const override { return true; }

  Status Check(Context& context, const std::vector<placement::ShardRecord>&) override {
    const bool exists = context.engine.catalog().Find(Text("to")) != nullptr ||
                        context.names.PlacementOf(Text("to")) != nullptr;
    return exists && !args()["dropTarget"].AsBool()
               ? Status(kNamespaceExists, "target namespace exists: " + Text("to"))
               : Status::Ok();
  }

  // The chunks under a generation of their own, and the record under the new name.
  Status Decide(Context& context, coord::Transaction* decision) override {
    ASSIGN_OR_RETURN(const auto facts, context.store.ReadCollection(Text("from")));
    if (!facts || facts->map == nullptr) {
      return {kNamespaceNotSharded, "Collection " + Text("from") + " is not sharded."};
    }
    ASSIGN_OR_RETURN(const auto target, context.store.Fact(placement::KeyOfCollection(Text("to"))));
    placement::CollectionRecord record = facts->record;
    record.ns = Text("to");
    record.generation = GenerationIn(args(), "generation");
    constexpr size_t kPerTransaction = 10;
    coord::Transaction part;
    for (const placement::ChunkBlock& block : placement::DivideIntoBlocks(facts->map->chunks())) {
      part.writes.push_back(coord::Put(placement::KeyOfBlock(record.generation, block.min()),
                                       placement::Encode(block)));
      if (part.writes.size() == kPerTransaction) {
        RETURN_IF_ERROR(context.store.Transact(std::move(part)).status());
        part = {};
      }
    }
    for (coord::Write& write : part.writes) {
      decision->writes.push_back(std::move(write));
    }
    RETURN_IF_ERROR(NoteTarget(context, target));
    decision->compares.push_back({placement::KeyOfCollection(Text("from")), facts->revision});
    decision->compares.push_back(
        {placement::KeyOfCollection(Text("to")), target ? target->modified : 0});
    decision->writes.push_back(coord::Delete(placement::KeyOfCollection(Text("from"))));
    decision->writes.push_back(
        coord::Put(placement::KeyOfCollection(Text("to")), placement::Encode(record)));
    return Status::Ok();
  }

  Status Decided(Context& context) override {
    ASSIGN_OR_RETURN(map_, ReadMap(context, Text("to")));
    return Status::Ok();
  }

  std::optional<NameOutcome> Outcome(const std::string& shard,
                                     const std::string& id) const override {
    if (id == CollectionId(Text("from"))) {
      return NameOutcome{};
    }
    return OutcomeOn(*map_, shard);
  }

  void AddToJournal(Context& context, coord::Transaction* end) const override {
    bson::Builder details;
    details.Append("to", Text("to"));
    shard::AddToJournal(context, "renameCollection", Text("from"), details.Finish(), end);
  }

  Status Clean(Context& context, bool committed, coord::Transaction* end) override {
    if (!committed) {
      return DeleteAll(context, placement::PrefixOfChunks(GenerationIn(args(), "generation")), end);
    }
    RETURN_IF_ERROR(RenameZones(context));
    if (args().Has("dropped")) {
      RETURN_IF_ERROR(
          DeleteAll(context, placement::PrefixOfChunks(GenerationIn(args(), "dropped")), end));
    }
    RETURN_IF_ERROR(DeleteAll(context, "zones/" + Text("from") + "/", end));
    return DeleteAll(context, placement::PrefixOfChunks(GenerationIn(args(), "before")), end);
  }

 private:
  static constexpr size_t kMostAtOnce = 50;

  // What goes with the target: afterwards its name stands for the other collection.
  Status NoteTarget(Context& context, const std::optional<coord::Entry>& target) {
    if (target) {
      ASSIGN_OR_RETURN(const auto record, placement::DecodeCollection(target->value));
      placement::ShardVersion version;
      version.sharded = true;
      version.generation = record.generation;
      bson::Builder dropped;
      placement::AppendVersion("dropped", version, &dropped);
      const bson::Document field = dropped.Finish();
      Set("dropped", field["dropped"]);
    }
    ASSIGN_OR_RETURN(const ZoneFacts zones, context.store.ReadZones(Text("from")));
    std::set<std::string> kept;
    for (const placement::ZoneRange& zone : zones.zones.ranges()) {
      kept.insert(placement::KeyOfZone(Text("to"), zone.range.min));
    }
    ASSIGN_OR_RETURN(const auto there, context.store.List("zones/" + Text("to") + "/"));
    bson::Builder stale;
    stale.BeginArray("keys");
    for (const coord::Entry& entry : there) {
      if (!kept.contains(entry.key)) {
        stale.Push(entry.key);
      }
    }
    stale.End();
    const bson::Document keys = stale.Finish();
    Set("staleZones", keys["keys"]);
    return Status::Ok();
  }

  // The source's stay until all of them are there under the new name.
  Status RenameZones(Context& context) const {
    std::vector<coord::Write> writes;
    if (const bson::Value stale = args()["staleZones"]; stale.is_array()) {
      for (const bson::Element& e : stale.AsArray()) {
        writes.push_back(coord::Delete(std::string(e.value().AsString())));
      }
    }
    ASSIGN_OR_RETURN(const ZoneFacts zones, context.store.ReadZones(Text("from")));
    for (const placement::ZoneRange& zone : zones.zones.ranges()) {
      writes.push_back(coord::Put(placement::KeyOfZone(Text("to"), zone.range.min),
                                  placement::Encode(placement::ZoneRecord{Text("to"), zone})));
    }
    for (size_t at = 0; at < writes.size(); at += kMostAtOnce) {
      coord::Transaction part;
      const auto begin = writes.begin() + static_cast<ptrdiff_t>(at);
      const auto end =
          writes.begin() + static_cast<ptrdiff_t>(std::min(at + kMostAtOnce, writes.size()));
      part.writes.assign(begin, end);
      RETURN_IF_ERROR(context.store.Transact(std::move(part)).status());
    }
    return Status::Ok();
  }

  placement::ChunkMapPtr map_;
};

class RenamePart final : public Part {
 public:
  bool TakesAway() const override { return true; }

  Status Prepare(Context& context, const StepRequest& step, Traces&,
                 bson::Builder*) const override {
    return MakeEqual(context, step.Text("from"), step.arguments["description"].AsDocument());
  }

  Status Commit(Context& context, const StepRequest& step, bson::Builder*) const override {
    const std::string_view from = step.Text("from");
    if (FindLocal(context, from, step.arguments["uuid"].AsBinary()) == nullptr) {
      return Status::Ok();  // it has its new name
    }
    bson::Builder rename;
    rename.Append("renameCollection", from)
        .Append("to", step.Text("to"))
        .Append("dropTarget", true);
    return context.local("admin", rename.Finish(), {}).status();
  }
};

}  // namespace

std::unique_ptr<Change> MakeRenameCollection(bson::Document arguments) {
  return std::make_unique<RenameCollection>(std::move(arguments));
}
const Part& RenameCollectionPart() {
  static const RenamePart kPart;
  return kPart;
}

}  // namespace quire::shard
