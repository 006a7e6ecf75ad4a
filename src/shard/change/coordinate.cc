// SPDX-License-Identifier: Apache-2.0
#include "shard/change/coordinate.h"

#include <algorithm>
#include <array>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "base/error_codes.h"
#include "base/log.h"
#include "base/try.h"
#include "bson/number.h"
#include "placement/version_fields.h"
#include "request/crud.h"
#include "request/fields.h"
#include "shard/change/chunk_commands.h"
#include "shard/change/participant.h"
#include "shard/change/run_change.h"
#include "shard/change/schema_commands.h"
#include "shard/change/shard_collection_command.h"

namespace quire::shard {

namespace {

struct Command {
  std::string name;
  std::string ns;  // of a database: its name
  std::string database;
  bson::View body;
};

// Commands whose first field is a whole namespace, whatever database they are sent to.
bool NamesWhole(std::string_view command) {
  constexpr std::array<std::string_view, 8> kWhole = {
      "shardCollection", "split",     "mergeChunks",    "mergeAllChunksOnShard",
      "moveChunk",       "moveRange", "clearJumboFlag", "renameCollection"};
  return std::find(kWhole.begin(), kWhole.end(), command) != kWhole.end();
}

Result<Command> ReadCommand(bson::View request) {
  const bson::Value body = request["_shardsvrCoordinate"];
  const bson::Value db = request["db"];
  if (!body.is_document() || body.AsDocument().empty() || !db.is_string()) {
    return Status(kBadValue, "_shardsvrCoordinate takes a command and its database");
  }
  Command command;
  command.body = body.AsDocument();
  const bson::Element first = command.body.front();
  command.name = std::string(first.name());
  command.database = std::string(db.AsString());
  if (command.name == "dropDatabase") {
    command.ns = command.database;
    return command;
  }
  if (NamesWhole(command.name)) {
    ASSIGN_OR_RETURN(command.ns, ReadWholeNamespace(command.name, first));
    command.database = std::string(DatabaseOf(command.ns));
    return command;
  }
  ASSIGN_OR_RETURN(const std::string_view collection,
                   request::CollectionName(command.name, command.body));
  ASSIGN_OR_RETURN(command.ns, request::Namespace(command.database, collection));
  return command;
}

// This shard has to be the primary one of the database, with that version.
Status CheckDatabase(Context& context, const std::string& database, const bson::Value& given) {
  const auto version = placement::ReadDatabaseVersion(given);
  if (!version) {
    return {kBadValue, "_shardsvrCoordinate needs the version of the database"};
  }
  const std::string id = DatabaseId(database);
  const placement::ShardVersion wanted = AsVersion(*version);
  if (JudgeVersion(context.names.Get(id).known, wanted) == Verdict::kUnknown) {
    RETURN_IF_ERROR(Adopt(context, id, wanted));
  }
  if (JudgeVersion(context.names.Get(id).known, wanted) == Verdict::kRun) {
    return Status::Ok();
  }
  bson::Builder extra;
  extra.Append("db", database);
  placement::AppendVersion("vReceived", *version, &extra);
  return Status(kStaleDbVersion, "database version mismatch detected for " + database)
      .WithExtra(extra.Finish().bytes());
}

Result<bson::Document> RunChange(Context& context, Result<std::unique_ptr<Change>> change) {
  RETURN_IF_ERROR(change.status());
  if (*change == nullptr) {
    return bson::Document();
  }
  return ChangeRun(context, *std::move(change)).Run();
}

Result<bson::Document> Dispatch(Context& context, const Command& command, bson::View request) {
  if (command.name == "shardCollection") {
    return ShardCollectionCommand(context, command.ns, command.body);
  }
  if (command.name == "split") {
    return SplitCommand(context, command.ns, command.body);
  }
  if (command.name == "mergeChunks") {
    return MergeCommand(context, command.ns, command.body);
  }
  if (command.name == "mergeAllChunksOnShard") {
    return MergeAllCommand(context, command.ns, command.body);
  }
  if (command.name == "clearJumboFlag") {
    return ClearJumboCommand(context, command.ns, command.body);
  }
  if (command.name == "moveChunk" || command.name == "moveRange") {
    return RunChange(context, PlanMove(context, command.ns, command.body));
  }
  return SchemaCommand(
      context, {command.name, command.ns, command.database, command.body, request["writeConcern"]});
}

}  // namespace

Result<bson::Document> Coordinate(Context& context, Reservations& reservations,
                                  bson::View request) {
  ASSIGN_OR_RETURN(const Command command, ReadCommand(request));
  std::set<std::string> ids = {command.name == "dropDatabase" ? std::string()
                                                              : CollectionId(command.ns)};
  if (const bson::Value to = command.body["to"];
      command.name == "renameCollection" && to.is_string()) {
    ids.insert(CollectionId(to.AsString()));
  }
  std::vector<std::unique_ptr<Reservations::Reservation>> reserved;
  for (const std::string& id : ids) {  // in order: two that want the same wait for each other once
    reserved.push_back(reservations.Take(DatabaseId(command.database), id));
  }
  RETURN_IF_ERROR(CheckDatabase(context, command.database, request["databaseVersion"]));
  return Dispatch(context, command, request);
}

Status ResumeOne(Context& context, Reservations& reservations, const std::string& id) {
  ASSIGN_OR_RETURN(const auto entry, context.store.Fact(LockKey(id)));
  if (!entry) {
    return Status::Ok();
  }
  ASSIGN_OR_RETURN(const LockRecord record, DecodeLock(entry->value));
  if (record.lock.over || record.names.empty()) {
    return Status::Ok();
  }
  const bool whole = id.starts_with("d:");
  std::set<std::string> ids = {std::string()};
  if (!whole) {
    ids = {record.names.begin(), record.names.end()};
  }
  std::vector<std::unique_ptr<Reservations::Reservation>> reserved;
  for (const std::string& one : ids) {
    reserved.push_back(reservations.Take(DatabaseId(DatabaseOf(NameOfId(id))), one));
  }
  return ChangeRun::Resume(context, id);
}

Status ResumeAll(Context& context, Reservations& reservations) {
  ASSIGN_OR_RETURN(const auto locks, context.store.List("ddl/"));
  Status first = Status::Ok();
  for (const coord::Entry& entry : locks) {
    const auto record = DecodeLock(entry.value);
    if (!record.ok() || record->lock.over || record->owner != context.shard ||
        record->names.empty()) {
      continue;
    }
    const std::string& id = record->names.front();
    const Status resumed = ResumeOne(context, reservations, id);
    if (!resumed.ok()) {
      log::Warning("SHARDING", "A change that was left open is not finished",
                   {{"name", id}, {"error", resumed.message()}});
      first = first.ok() ? resumed : first;
    }
  }
  return first;
}

}  // namespace quire::shard
