// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "base/error_codes.h"
#include "base/try.h"
#include "command/repl/concerns.h"
#include "command/repl/set_view.h"
#include "run/condition.h"

namespace quire::command {

namespace {

using request::Generic;

uint64_t PackedTime(bson::Timestamp time) {
  return (static_cast<uint64_t>(time.seconds) << 32) | time.increment;
}

// The level that counts: the command's, else the default one.
std::string_view LevelOf(NodeRunning& running) {
  const Generic& generic = running.call.generic;
  if (!generic.read_concern_level.empty() || generic.in_transaction() ||
      !running.call.command.Is(request::kReadConcern)) {
    return generic.read_concern_level;
  }
  return running.invocation.commands.default_concerns().reads_majority() ? "majority" : "";
}

// Whether it reads what there is when the wait is over, and what comes later: a change stream ends
// at the commit point by itself; what $out, $merge and mapReduce write comes later in the log than
// what they read, and is committed with it.
bool ReadsOn(const request::Call& call) {
  if (Truthy(call.body["tailable"]) || call.command.name == "mapReduce") {
    return true;
  }
  const bson::Value pipeline = call.body["pipeline"];
  if (!call.command.Is(request::kRunsPipeline) || !pipeline.is_array()) {
    return false;
  }
  for (const bson::Element& stage : pipeline.AsArray()) {
    if (!stage.value().is_document()) {
      continue;
    }
    for (std::string_view name : {"$changeStream", "$out", "$merge"}) {
      if (stage.value().AsDocument().Has(name)) {
        return true;
      }
    }
  }
  return false;
}

// A wait for a time, and how the read goes on after it.
Status Await(NodeRunning& running, engine::Replication& replication, uint64_t time, bool committed,
             run::Then then) {
  auto answer = std::make_shared<run::Answer>();
  std::shared_ptr<engine::PendingAnswer> pending = replication.AwaitTime(
      time, committed, [answer](Status given) { answer->Give(std::move(given)); });
  if (std::optional<Status> given = answer->status()) {
    return then(*std::move(given));
  }
  run::AwaitAnswerBefore(std::move(answer), std::move(pending), running, std::move(then));
  return Status::Ok();
}

Result<std::shared_ptr<const engine::Snapshot>> Take(NodeRunning& running, std::string_view level) {
  engine::Snapshots& snapshots = running.invocation.engine.snapshots();
  if (level != "snapshot") {
    return snapshots.Fleeting();
  }
  const bson::Value at = running.call.generic.read_concern["atClusterTime"];
  return at.missing() ? snapshots.Now() : snapshots.At(at.AsTimestamp());
}

Status TakeCommitted(NodeRunning& running, engine::Replication& replication,
                     std::string_view level);

// The time that is to be read, when the member has not come to it.
uint64_t TimeAhead(const NodeRunning& running, engine::Replication& replication,
                   std::string_view level) {
  const bson::Value at = running.call.generic.read_concern["atClusterTime"];
  if (level != "snapshot" || at.missing()) {
    return 0;
  }
  const uint64_t time = PackedTime(at.AsTimestamp());
  return time > replication.status()->applied.time ? time : 0;
}

// A follower applies what is committed. One that led before, and does not know yet what became of
// its last writes, waits until it does.
Status TakeOnFollower(NodeRunning& running, engine::Replication& replication,
                      std::string_view level) {
  const auto before = replication.status();
  auto take = [&running, &replication, level](Status waited) -> Status {
    RETURN_IF_ERROR(waited);
    ASSIGN_OR_RETURN(auto snapshot, Take(running, level));
    if (replication.status()->writable) {  // it leads by now, and may have written
      return TakeCommitted(running, replication, level);
    }
    running.operation.snapshot = std::move(snapshot);
    return Status::Ok();
  };
  const uint64_t ahead = TimeAhead(running, replication, level);
  if (ahead == 0 && before->caught_up) {
    return take(Status::Ok());
  }
  return Await(running, replication, std::max(ahead, before->applied.time), true, take);
}

// What a primary shows holds writes that are not committed yet: it is read once they are, in the
// same epoch. Later the slots may be others'.
Status TakeOnPrimary(NodeRunning& running, engine::Replication& replication,
                     std::string_view level) {
  ASSIGN_OR_RETURN(auto snapshot, Take(running, level));
  const engine::LogPosition last = replication.data().LastSlot();
  const auto now = replication.status();
  if (now->writable && now->commit.epoch == last.epoch && now->commit >= last) {
    running.operation.snapshot = std::move(snapshot);
    return Status::Ok();
  }
  return Await(running, replication, last.time, true,
               [&running, &replication, level, last, snapshot](Status waited) -> Status {
                 RETURN_IF_ERROR(waited);
                 const auto then = replication.status();
                 if (!then->writable || replication.data().LastSlot().epoch != last.epoch) {
                   return TakeCommitted(running, replication, level);
                 }
                 running.operation.snapshot = snapshot;
                 return Status::Ok();
               });
}

Status TakeCommitted(NodeRunning& running, engine::Replication& replication,
                     std::string_view level) {
  return replication.status()->writable ? TakeOnPrimary(running, replication, level)
                                        : TakeOnFollower(running, replication, level);
}

bool WantsCommitted(const NodeRunning& running, std::string_view level) {
  const request::Call& call = running.call;
  return (level == "majority" || level == "snapshot") && !call.generic.in_transaction() &&
         call.command.Is(request::kReadConcern);
}

// The parts of the wait that come after afterClusterTime.
Status TakeWhatIsRead(NodeRunning& running, engine::Replication& replication,
                      std::string_view level) {
  if (!WantsCommitted(running, level) || ReadsOn(running.call)) {
    return Status::Ok();
  }
  return TakeCommitted(running, replication, level);
}

// The name of a level that outlives the request's bytes.
std::string_view Kept(std::string_view level) {
  return level == "majority" ? "majority" : level == "snapshot" ? "snapshot" : "";
}

}  // namespace

Status PrepareRead(NodeRunning& running, engine::Replication& replication) {
  const request::Call& call = running.call;
  if (call.database == "local" || !call.command.Is(request::kRead | request::kWrite)) {
    return Status::Ok();
  }
  const std::string_view level = Kept(LevelOf(running));
  const bson::Value after = call.generic.read_concern["afterClusterTime"];
  if (after.type() != bson::Type::kTimestamp) {
    return TakeWhatIsRead(running, replication, level);
  }
  const bool committed = WantsCommitted(running, level);
  return Await(running, replication, PackedTime(after.AsTimestamp()), committed,
               [&running, &replication, level](Status waited) -> Status {
                 RETURN_IF_ERROR(waited);
                 return TakeWhatIsRead(running, replication, level);
               });
}

Status ConfirmLinearizable(NodeRunning& running, engine::Replication& replication) {
  const request::Call& call = running.call;
  if (call.generic.read_concern_level != "linearizable" || call.database == "local") {
    return Status::Ok();
  }
  auto answer = std::make_shared<run::Answer>();
  std::shared_ptr<engine::PendingAnswer> pending =
      replication.AwaitLinearizable([answer](Status given) { answer->Give(std::move(given)); });
  if (std::optional<Status> given = answer->status()) {
    return *std::move(given);
  }
  run::AwaitAnswer(std::move(answer), std::move(pending), running.call,
                   [](Status confirmed) { return confirmed; });
  return Status::Ok();
}

}  // namespace quire::command
