// SPDX-License-Identifier: Apache-2.0
//
// The commands that routers and other shards send. What they mean is the sharding's business.
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/error_codes.h"
#include "base/mutex.h"
#include "command/authorise.h"
#include "command/shard/shard_commands.h"
#include "engine/replica/keep_snapshot.h"
#include "engine/replication.h"
#include "engine/write/out_collection.h"
#include "request/route.h"
#include "run/condition.h"
#include "run/cursor.h"
#include "store/log/note.h"

namespace quire::command {

namespace {

// What comes from another thread.
struct Awaited {
  run::Answer answer;
  Mutex mutex;
  bson::Document reply QUIRE_GUARDED_BY(mutex);
};

Status RunInternal(Invocation& i) {
  engine::Sharding* sharding = static_cast<ShardCommands&>(i.commands).sharding();
  if (sharding == nullptr) {
    return {kShardingStateNotInitialized, "the node is no member of a replica set"};
  }
  auto awaited = std::make_shared<Awaited>();
  sharding->Handle(bson::Document(i.body()), [awaited](Result<bson::Document> reply) {
    const Status status = reply.status();
    if (status.ok()) {
      MutexLock lock(awaited->mutex);
      awaited->reply = *std::move(reply);
    }
    awaited->answer.Give(status);
  });
  request::Call& call = i.call;
  run::AwaitAnswer(std::shared_ptr<run::Answer>(awaited, &awaited->answer), nullptr, call,
                   [awaited, &call](Status status) {
                     if (status.ok()) {
                       MutexLock lock(awaited->mutex);
                       call.reply.AppendFields(awaited->reply);
                     }
                     return status;
                   });
  return Status::Ok();
}

// Makes the log reach a time and the getMore of a change stream end then: a router holds events of
// other shards back that are not later. The primary writes a no-op where it has to.
Status RunReachTime(Invocation& i) {
  const bson::Value id = i.body().front().value();
  const bson::Value time = i.body()["time"];
  if (id.type() != bson::Type::kInt64 || time.type() != bson::Type::kTimestamp) {
    return {kBadValue, "_shardsvrReachTime takes a cursor's id and a time"};
  }
  const std::shared_ptr<run::Cursor> cursor = i.engine.cursors().Find(id.AsInt64());
  if (cursor == nullptr) {
    return {kCursorNotFound, "cursor id " + std::to_string(id.AsInt64()) + " not found"};
  }
  const uint64_t wanted = store::PackTime(time.AsTimestamp());
  cursor->Reach(wanted);
  store::ChangeLog& log = i.engine.log();
  if (store::PackTime(log.Readable()) >= wanted) {
    return Status::Ok();
  }
  if (i.engine.replication == nullptr) {
    i.engine.clock().Advance(time.AsTimestamp());
    const bson::Document note =
        bson::Builder().Append("msg", "a change stream waits for a later time").Finish();
    return store::WriteNote(i.engine.store(), log, note, kv::Durability::kProcess).status();
  }
  auto answer = std::make_shared<run::Answer>();
  std::shared_ptr<engine::PendingAnswer> pending = i.engine.replication->AwaitTime(
      wanted, true, [answer](Status given) { answer->Give(std::move(given)); });
  run::AwaitAnswer(std::move(answer), std::move(pending), i.call,
                   [](Status reached) { return reached; });
  return Status::Ok();
}

// Keeps a snapshot for a router that reads all shards at one time: {kept, everywhere}.
Status RunKeepSnapshot(Invocation& i) {
  const bson::Value time = i.body().front().value();
  if (time.type() != bson::Type::kTimestamp) {
    return {kBadValue, "_shardsvrKeepSnapshot takes a time"};
  }
  const Result<bool> kept = engine::KeepSnapshot(i.engine, time.AsTimestamp());
  if (!kept.ok() && kept.status().code() != kSnapshotTooOld) {
    return kept.status();
  }
  i.reply().Append("kept", kept.ok()).Append("everywhere", kept.ok() && *kept);
  return Status::Ok();
}

// Cursors that a router will go on to read: they do not expire.
Status RunTouchCursors(Invocation& i) {
  const bson::Value list = i.body()["cursors"];
  if (!list.is_array()) {
    return {kBadValue, "_shardsvrTouchCursors takes a list of cursors"};
  }
  run::CursorTable& cursors = i.engine.cursors();
  for (const bson::Element& id : list.AsArray()) {
    if (id.type() != bson::Type::kInt64) {
      return {kBadValue, "_shardsvrTouchCursors takes a list of cursors"};
    }
    cursors.Touch(id.value().AsInt64());
  }
  return Status::Ok();
}

// What the shard answered to statements of a retryable write: {remembered: [{stmtId, answer}]}.
Status RunRemembered(Invocation& i) {
  if (!i.operation.retryable) {
    return {kInvalidOptions, "_shardsvrRemembered is about a retryable write"};
  }
  i.reply().BeginArray("remembered");
  for (const int32_t statement : i.operation.statement_ids) {
    if (const bson::Document* answer = i.operation.session->Remembered(statement)) {
      i.reply().PushDocument().Append("stmtId", statement).Append("answer", *answer).End();
    }
  }
  i.reply().End();
  return Status::Ok();
}

// The names of a $out that a router fills: {name: target, temporary, ...}.
Result<std::pair<std::string, std::string>> NamesOfOut(Invocation& i) {
  const bson::Value target = i.body().front().value();
  const bson::Value temporary = i.body()["temporary"];
  if (!target.is_string() || !temporary.is_string()) {
    return Status(kBadValue, std::string(i.call.command.name) + " takes a target and a temporary");
  }
  const std::string name(temporary.AsString());
  if (!name.substr(name.find('.') + 1).starts_with(engine::kRoutersOutTemporary)) {
    return Status(kInvalidNamespace, "no name of a router's temporary collection: " + name);
  }
  return std::pair(std::string(target.AsString()), name);
}

// Makes the temporary collection of a router's $out: {uuid}.
Status RunBeginOut(Invocation& i) {
  ASSIGN_OR_RETURN(const auto names, NamesOfOut(i));
  const bson::Value timeseries = i.body()["timeseries"];
  RETURN_IF_ERROR(
      engine::MakeOutCollection(i.operation, names.first, names.second,
                                timeseries.is_document() ? timeseries.AsDocument() : bson::View()));
  const store::CollectionPtr made = i.engine.catalog().Find(names.second);
  if (made == nullptr) {
    return {kNamespaceNotFound, "the temporary collection was dropped at once"};
  }
  const std::string_view uuid(reinterpret_cast<const char*>(made->uuid.data()), made->uuid.size());
  i.reply().Append("uuid", bson::Value::Binary(uuid, 4));
  return Status::Ok();
}

Status RunEndOut(Invocation& i) {
  ASSIGN_OR_RETURN(const auto names, NamesOfOut(i));
  const bson::Value uuid = i.body()["uuid"];
  if (uuid.type() != bson::Type::kBinary) {
    return {kBadValue, "_shardsvrEndOut takes the uuid of the temporary collection"};
  }
  return engine::PutInPlace(i.operation, names.second, names.first, uuid);
}

constexpr Row Internal(std::string_view name, std::string_view help, uint32_t more = 0) {
  return {
      {name, "", request::kAdminOnly | request::kOnPrimary | request::kNoFailPoint | more, help},
      RunInternal,
      OnCluster(Action::internal)};
}

}  // namespace

std::span<const Row> ShardRows() {
  static constexpr Row kRows[] = {
      Internal("_shardsvrCoordinate", "a change of a collection, from a router",
               request::kWriteConcern),
      Internal("_shardsvrStep", "a step of such a change, from its coordinator"),
      Internal("_shardsvrTakeAnswers", "what another shard remembers of retryable writes"),
      Internal("_shardsvrAdopt", "takes up what a secondary does not know of a name"),
      Internal("_shardsvrMedian", "the key in the middle of a range"),
      {{"_shardsvrBeginOut", "",
        request::kAdminOnly | request::kWrite | request::kWriteConcern | request::kNoFailPoint,
        "makes the collection that a router's $out fills"},
       RunBeginOut,
       OnCluster(Action::internal)},
      {{"_shardsvrEndOut", "",
        request::kAdminOnly | request::kWrite | request::kWriteConcern | request::kNoFailPoint,
        "puts that collection in its target's place"},
       RunEndOut,
       OnCluster(Action::internal)},
      Internal("_shardsvrJoinCluster", "makes the set a shard of a cluster"),
      Internal("_shardsvrNoteShard", "tells the log of another shard"),
      {{"_shardsvrReachTime", "",
        request::kAdminOnly | request::kOnEveryMember | request::kNoFailPoint,
        "lets a change stream go on to a time"},
       RunReachTime,
       OnCluster(Action::internal)},
      {{"_shardsvrKeepSnapshot", "",
        request::kAdminOnly | request::kOnPrimary | request::kNoFailPoint,
        "keeps what the shard shows at a time"},
       RunKeepSnapshot,
       OnCluster(Action::internal)},
      {{"_shardsvrTouchCursors", "",
        request::kAdminOnly | request::kOnEveryMember | request::kNoFailPoint,
        "keeps cursors that a router reads from expiring"},
       RunTouchCursors,
       OnCluster(Action::internal)},
      Internal("_shardsvrEndBuilds", "ends index builds of a collection that another shard drops"),
      Internal("_shardsvrIsPrimary", "whether the shard has a primary, from another shard"),
      {{"_shardsvrRemembered", "",
        request::kAdminOnly | request::kOnPrimary | request::kNoFailPoint | request::kRetryable,
        "what a retryable write has done here"},
       RunRemembered,
       OnCluster(Action::internal)},
  };
  return kRows;
}

}  // namespace quire::command
