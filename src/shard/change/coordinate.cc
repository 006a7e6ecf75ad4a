// SPDX-License-Identifier: Apache-2.0
#include "shard/change/coordinate.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <string_view>
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
#include "shard/change/end_builds.h"
#include "shard/change/participant.h"
#include "shard/change/run_change.h"
#include "shard/change/schema_commands.h"
#include "shard/change/shard_collection_command.h"

namespace quire::shard {

namespace {

struct Command {
  const struct CommandRow* row;
  std::string ns;  // of a database: its name
  std::string database;
  bson::View body;
};

// A command that is coordinated.
struct CommandRow {
  std::string_view name;
  // Fills in what it changes: ns, and the database when it is another one.
  Status (*names)(Command* command);
  Result<bson::Document> (*run)(Context& context, const SchemaRequest& request);
  bool whole_database = false;
  std::string_view other = "";  // the field with another collection that it changes
  bool drops = false;           // what it names goes
};

Status NameCollection(Command* command) {
  ASSIGN_OR_RETURN(const std::string_view collection,
                   request::CollectionName(command->row->name, command->body));
  ASSIGN_OR_RETURN(command->ns, request::Namespace(command->database, collection));
  return Status::Ok();
}

// The first field is a whole namespace, whatever database the command is sent to.
Status NameWhole(Command* command) {
  ASSIGN_OR_RETURN(command->ns, ReadWholeNamespace(command->body.front()));
  command->database = std::string(DatabaseOf(command->ns));
  return Status::Ok();
}

Status NameRenamed(Command* command) {
  const bson::Element from = command->body.front();
  return from.type() == bson::Type::kString
             ? NameWhole(command)
             : request::WrongType(command->row->name, from, "string");
}

Status NameDatabase(Command* command) {
  command->ns = command->database;
  return Status::Ok();
}

Result<bson::Document> Move(Context& context, const SchemaRequest& request) {
  ASSIGN_OR_RETURN(std::unique_ptr<Change> change, PlanMove(context, request.ns, request.body));
  if (change == nullptr) {
    return bson::Document();
  }
  return ChangeRun(context, std::move(change)).Run();
}

// One that needs what it names and its fields alone.
template <auto run>
Result<bson::Document> Run(Context& context, const SchemaRequest& request) {
  return run(context, request.ns, request.body);
}

constexpr CommandRow kCommands[] = {
    {"create", NameCollection, CreateCommand},
    {"convertToCapped", NameCollection, ConvertToCappedCommand},
    {.name = "drop", .names = NameCollection, .run = DropCommand, .drops = true},
    {"createIndexes", NameCollection, CreateIndexesCommand},
    {"dropIndexes", NameCollection, DropIndexesCommand},
    {"collMod", NameCollection, CollModCommand},
    {.name = "renameCollection", .names = NameRenamed, .run = RenameCommand, .other = "to"},
    {.name = "dropDatabase",
     .names = NameDatabase,
     .run = DropDatabaseCommand,
     .whole_database = true,
     .drops = true},
    {"shardCollection", NameWhole, Run<ShardCollectionCommand>},
    {"split", NameWhole, Run<SplitCommand>},
    {"mergeChunks", NameWhole, Run<MergeCommand>},
    {"mergeAllChunksOnShard", NameWhole, Run<MergeAllCommand>},
    {"clearJumboFlag", NameWhole, Run<ClearJumboCommand>},
    {"moveChunk", NameWhole, Move},
    {"moveRange", NameWhole, Move},
};

Result<Command> ReadCommand(bson::View request) {
  const bson::Value body = request["_shardsvrCoordinate"];
  const bson::Value db = request["db"];
  if (!body.is_document() || body.AsDocument().empty() || !db.is_string()) {
    return Status(kBadValue, "_shardsvrCoordinate takes a command and its database");
  }
  const std::string_view name = body.AsDocument().front().name();
  const auto* row = std::find_if(std::begin(kCommands), std::end(kCommands),
                                 [&](const CommandRow& one) { return one.name == name; });
  if (row == std::end(kCommands)) {
    return Status(kBadValue, "_shardsvrCoordinate takes no " + std::string(name));
  }
  Command command{row, {}, std::string(db.AsString()), body.AsDocument()};
  RETURN_IF_ERROR(row->names(&command));
  return command;
}

ClientRequest ReadClient(bson::View request) {
  ClientRequest client;
  if (const bson::Value id = request["changeId"]; id.is_string()) {
    client.id = std::string(id.AsString());
  }
  if (const bson::Value limit = request["maxTimeMS"]; limit.is_number()) {
    client.until =
        std::chrono::steady_clock::now() + std::chrono::milliseconds(bson::ClampedInt64(limit));
  }
  return client;
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

// Whether the collection, or the whole database, goes.
bool Drops(const Command& command, const std::string& id) {
  const CommandRow& row = *command.row;
  if (row.drops || row.other.empty()) {
    return row.drops;
  }
  const bson::Value other = command.body[row.other];
  return other.is_string() && id == CollectionId(other.AsString()) &&
         request::Truthy(command.body["dropTarget"]);
}

// Waits for other changes, but ends index builds for one that drops: again and again, as they may
// not have begun on all shards.
Result<std::unique_ptr<Reservations::Reservation>> Reserve(Context& context,
                                                           Reservations& reservations,
                                                           const Command& command,
                                                           const std::string& id) {
  using Clock = Reservations::Clock;
  constexpr std::chrono::milliseconds kEndEvery{1000};
  const std::string database = DatabaseId(command.database);
  const Clock::time_point until = context.client.until;
  Clock::time_point next = Drops(command, id) ? Clock::now() : until;
  while (true) {
    auto taken = reservations.Take(database, id, std::min(next, until));
    if (taken != nullptr) {
      return taken;
    }
    if (Clock::now() >= until) {
      return Status(kMaxTimeMSExpired, "operation exceeded time limit");
    }
    if (context.stopping.load()) {
      return Status(kInterruptedAtShutdown, "The server is shutting down");
    }
    EndBuilds(context, id.empty() ? database : id);
    next = Clock::now() + kEndEvery;
  }
}

}  // namespace

Result<bson::Document> Coordinate(Context& context, Reservations& reservations,
                                  bson::View request) {
  ASSIGN_OR_RETURN(const Command command, ReadCommand(request));
  context.client = ReadClient(request);
  const CommandRow& row = *command.row;
  std::set<std::string> ids = {row.whole_database ? std::string() : CollectionId(command.ns)};
  if (const bson::Value other = command.body[row.other]; !row.other.empty() && other.is_string()) {
    ids.insert(CollectionId(other.AsString()));
  }
  std::vector<std::unique_ptr<Reservations::Reservation>> reserved;
  for (const std::string& id : ids) {  // in order: two that want the same wait for each other once
    ASSIGN_OR_RETURN(auto taken, Reserve(context, reservations, command, id));
    reserved.push_back(std::move(taken));
  }
  ASSIGN_OR_RETURN(
      auto earlier,
      ChangeRun::EarlierReply(
          context, row.whole_database ? DatabaseId(command.database) : CollectionId(command.ns),
          context.client.id));
  if (earlier) {
    return *std::move(earlier);
  }
  RETURN_IF_ERROR(CheckDatabase(context, command.database, request["databaseVersion"]));
  return row.run(context, {command.ns, command.database, command.body, request["writeConcern"]});
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
      if (resumed.code() == kHostUnreachable) {
        context.left_open(id);
      } else {
        first = first.ok() ? resumed : first;
      }
    }
  }
  return first;
}

}  // namespace quire::shard
