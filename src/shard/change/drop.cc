// SPDX-License-Identifier: Apache-2.0
//
// drop of a sharded collection. Arguments: {ns, uuid, generation}. dropDatabase: {db, collections:
// [{ns, uuid, generation}]}.
#include <utility>

#include "base/error_codes.h"
#include "base/try.h"
#include "placement/version_fields.h"
#include "shard/change/change.h"
#include "shard/change/journal.h"

namespace quire::shard {

namespace {

// The record with another state, compared with what it was. Nothing to do when it is not there.
Status MarkDropping(Context& context, const std::string& ns, coord::Transaction* decision) {
  const std::string key = placement::KeyOfCollection(ns);
  ASSIGN_OR_RETURN(const auto entry, context.store.Fact(key));
  if (!entry) {
    return Status::Ok();
  }
  ASSIGN_OR_RETURN(placement::CollectionRecord record, placement::DecodeCollection(entry->value));
  record.state = placement::CollectionRecord::State::kDropping;
  decision->compares.push_back({key, entry->modified});
  decision->writes.push_back(coord::Put(key, placement::Encode(record)));
  return Status::Ok();
}

Status DeleteRecords(Context& context, bson::View collection, coord::Transaction* end) {
  const std::string ns(collection["ns"].AsString());
  if (const auto generation = placement::ReadShardVersion(collection["generation"])) {
    RETURN_IF_ERROR(DeleteAll(context, placement::PrefixOfChunks(generation->generation), end));
  }
  RETURN_IF_ERROR(DeleteAll(context, "zones/" + ns + "/", end));
  end->writes.push_back(coord::Delete(placement::KeyOfCollection(ns)));
  return Status::Ok();
}

class DropCollection final : public Change {
 public:
  using Change::Change;
  std::string_view kind() const override { return "drop"; }
  std::vector<std::string> names() const override { return {CollectionId(Text("ns"))}; }
  Status Decide(Context& context, coord::Transaction* decision) override {
    return MarkDropping(context, Text("ns"), decision);
  }
  std::optional<NameOutcome> Outcome(const std::string&, const std::string&) const override {
    return NameOutcome{};
  }
  void AddToJournal(Context& context, coord::Transaction* end) const override {
    shard::AddToJournal(context, "dropCollection", Text("ns"), bson::Document(), end);
  }
  Status Clean(Context& context, bool committed, coord::Transaction* end) override {
    return committed ? DeleteRecords(context, args(), end) : Status::Ok();
  }
};

class DropPart final : public Part {
 public:
  bool TakesAway() const override { return true; }
  Status Commit(Context& context, const StepRequest& step, bson::Builder*) const override {
    return DropLocal(context, step.Text("ns"), step.arguments["uuid"].AsBinary());
  }
};

// The database and its sharded collections go together: all their names are locked.
class DropDatabase final : public Change {
 public:
  using Change::Change;
  std::string_view kind() const override { return "dropDatabase"; }
  std::vector<std::string> names() const override {
    std::vector<std::string> ids = {DatabaseId(Text("db"))};
    for (const bson::Element& e : args()["collections"].AsArray()) {
      ids.push_back(CollectionId(e.value().AsDocument()["ns"].AsString()));
    }
    return ids;
  }
  bool Blocks(const std::string& shard, const std::string& id) const override {
    return id.starts_with("d:") && shard == Text("primary");
  }
  Status Decide(Context& context, coord::Transaction* decision) override {
    const std::string key = placement::KeyOfDatabase(Text("db"));
    ASSIGN_OR_RETURN(const auto entry, context.store.Fact(key));
    if (entry) {
      ASSIGN_OR_RETURN(placement::DatabaseRecord record, placement::DecodeDatabase(entry->value));
      record.state = placement::DatabaseRecord::State::kDropping;
      decision->compares.push_back({key, entry->modified});
      decision->writes.push_back(coord::Put(key, placement::Encode(record)));
    }
    for (const bson::Element& e : args()["collections"].AsArray()) {
      RETURN_IF_ERROR(
          MarkDropping(context, std::string(e.value().AsDocument()["ns"].AsString()), decision));
    }
    return Status::Ok();
  }
  std::optional<NameOutcome> Outcome(const std::string&, const std::string&) const override {
    return NameOutcome{};
  }
  void AddToJournal(Context& context, coord::Transaction* end) const override {
    shard::AddToJournal(context, "dropDatabase", Text("db"), bson::Document(), end);
  }
  Status Clean(Context& context, bool committed, coord::Transaction* end) override {
    if (!committed) {
      return Status::Ok();
    }
    for (const bson::Element& e : args()["collections"].AsArray()) {
      RETURN_IF_ERROR(DeleteRecords(context, e.value().AsDocument(), end));
    }
    RETURN_IF_ERROR(DeleteAll(context, "zones/" + Text("db") + ".", end));
    end->writes.push_back(coord::Delete(placement::KeyOfDatabase(Text("db"))));
    return Status::Ok();
  }
};

class DatabasePart final : public Part {
 public:
  bool TakesAway() const override { return true; }
  Status Commit(Context& context, const StepRequest& step, bson::Builder*) const override {
    for (const bson::Element& e : step.arguments["collections"].AsArray()) {
      const bson::View collection = e.value().AsDocument();
      RETURN_IF_ERROR(
          DropLocal(context, collection["ns"].AsString(), collection["uuid"].AsBinary()));
    }
    if (step.Text("primary") != context.shard) {
      return Status::Ok();
    }
    bson::Builder drop;
    drop.Append("dropDatabase", 1);
    return context.local(step.Text("db"), drop.Finish(), {}).status();
  }
};

}  // namespace

std::unique_ptr<Change> MakeDropCollection(bson::Document arguments) {
  return std::make_unique<DropCollection>(std::move(arguments));
}
const Part& DropCollectionPart() {
  static const DropPart kPart;
  return kPart;
}
std::unique_ptr<Change> MakeDropDatabase(bson::Document arguments) {
  return std::make_unique<DropDatabase>(std::move(arguments));
}
const Part& DropDatabasePart() {
  static const DatabasePart kPart;
  return kPart;
}

}  // namespace quire::shard
