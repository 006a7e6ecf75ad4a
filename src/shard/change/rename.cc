// SPDX-License-Identifier: Apache-2.0
//
// renameCollection of a sharded collection, within its database. Arguments: {from, to, uuid,
// dropTarget, generation, before: generation, description}.
#include <utility>

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
    decision->compares.push_back({placement::KeyOfCollection(Text("from")), facts->revision});
    decision->compares.push_back(
        {placement::KeyOfCollection(Text("to")), target ? target->modified : 0});
    decision->writes.push_back(coord::Delete(placement::KeyOfCollection(Text("from"))));
    decision->writes.push_back(
        coord::Put(placement::KeyOfCollection(Text("to")), placement::Encode(record)));
    return Status::Ok();
  }

  Status Decided(Context& context) override {
    ASSIGN_OR_RETURN(const auto facts, context.store.ReadCollection(Text("to")));
    if (!facts || facts->map == nullptr) {
      return {kNamespaceNotSharded, "the collection is not in the coordination store"};
    }
    map_ = facts->map;
    return Status::Ok();
  }

  std::optional<NameOutcome> Outcome(const std::string& shard,
                                     const std::string& id) const override {
    if (id == CollectionId(Text("from"))) {
      return NameOutcome{};
    }
    return NameOutcome{PlacedOn(*map_, shard), bson::Document(map_->pattern().document())};
  }

  void AddToJournal(Context& context, coord::Transaction* end) const override {
    bson::Builder details;
    details.Append("to", Text("to"));
    shard::AddToJournal(context, "renameCollection", Text("from"), details.Finish(), end);
  }

  Status Clean(Context& context, bool committed, coord::Transaction* end) override {
    if (committed) {
      RETURN_IF_ERROR(RenameZones(context, end));
    }
    return DeleteAll(
        context,
        placement::PrefixOfChunks(GenerationIn(args(), committed ? "before" : "generation")), end);
  }

 private:
  Status RenameZones(Context& context, coord::Transaction* end) const {
    ASSIGN_OR_RETURN(const ZoneFacts zones, context.store.ReadZones(Text("from")));
    RETURN_IF_ERROR(DeleteAll(context, "zones/" + Text("from") + "/", end));
    for (const placement::ZoneRange& zone : zones.zones.ranges()) {
      end->writes.push_back(coord::Put(placement::KeyOfZone(Text("to"), zone.range.min),
                                       placement::Encode(placement::ZoneRecord{Text("to"), zone})));
    }
    return Status::Ok();
  }

  placement::ChunkMapPtr map_;
};

class RenamePart final : public Part {
 public:
  bool TakesAway() const override { return true; }

  Status Prepare(Context& context, const StepRequest& step, bson::Builder*,
                 bson::Builder*) const override {
    return MakeEqual(context, step.Text("from"), step.arguments["description"].AsDocument())
        .status();
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
