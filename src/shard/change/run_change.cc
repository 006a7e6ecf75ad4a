// SPDX-License-Identifier: Apache-2.0
#include "shard/change/run_change.h"

#include <algorithm>
#include <future>
#include <set>
#include <thread>
#include <utility>

#include "base/error_codes.h"
#include "base/log.h"
#include "base/try.h"
#include "bson/number.h"
#include "shard/change/journal.h"
#include "shard/change/participant.h"

namespace quire::shard {

namespace {

using std::chrono::milliseconds;
using State = Coordinator::State;

constexpr milliseconds kPause{100};
constexpr milliseconds kStepPatience{30'000};
constexpr milliseconds kBuildPatience{24 * 3600 * 1000};
constexpr size_t kMostArguments = size_t{256} << 10;
// Changes with every shard that joins, drains or leaves.
constexpr std::string_view kShardList = "shardlist";

bool WritesLock(State state) {
  return state == State::kTaking || state == State::kDeciding || state == State::kAborting ||
         state == State::kReleasing;
}

std::string_view NameOf(State state) {
  switch (state) {
    case State::kTaking:
      return "taking";
    case State::kPreparing:
      return "preparing";
    case State::kDeciding:
      return "deciding";
    case State::kAborting:
      return "aborting";
    case State::kFinishing:
      return "finishing";
    case State::kUndoing:
      return "undoing";
    case State::kReleasing:
      return "releasing";
    case State::kEnded:
      return "ended";
    default:
      return "";
  }
}

uint64_t Number(const bson::Value& value) {
  return value.is_number() ? static_cast<uint64_t>(bson::ClampedInt64(value)) : 0;
}

}  // namespace

std::string LockKey(const std::string& id) {
  const std::string_view name = NameOfId(id);
  const std::string database(NameOfId(DatabaseId(DatabaseOf(name))));
  return id.starts_with("d:") ? "ddl/" + database
                              : "ddl/" + database + "/" + std::string(CollectionOf(name));
}

std::string Encode(const LockRecord& record) {
  bson::Builder out;
  out.Append("number", static_cast<int64_t>(record.lock.stamp.number))
      .Append("attempt", static_cast<int64_t>(record.lock.stamp.attempt))
      .Append("phase", static_cast<int32_t>(record.lock.phase))
      .Append("over", record.lock.over)
      .Append("nonce", record.lock.nonce)
      .Append("owner", record.owner)
      .Append("primary", record.primary)
      .Append("kind", record.kind)
      .Append("arguments", record.arguments);
  out.BeginArray("names");
  for (const std::string& name : record.names) {
    out.Push(name);
  }
  out.End();
  const bson::Document document = out.Finish();
  return bson::ToCanonicalJson(document);
}

Result<LockRecord> DecodeLock(std::string_view value) {
  ASSIGN_OR_RETURN(const bson::Document document, bson::Document::FromJson(value));
  LockRecord record;
  const bson::Value over = document["over"];
  if (!document["nonce"].is_string() || !document["owner"].is_string() ||
      !document["kind"].is_string() || !document["arguments"].is_document() ||
      over.type() != bson::Type::kBool || !document["names"].is_array()) {
    return Status(kFailedToParse, "malformed lock of a change");
  }
  record.lock.stamp = {Number(document["number"]), Number(document["attempt"])};
  record.lock.phase = static_cast<Phase>(Number(document["phase"]));
  record.lock.over = over.AsBool();
  record.lock.nonce = std::string(document["nonce"].AsString());
  record.owner = std::string(document["owner"].AsString());
  const bson::Value primary = document["primary"];
  record.primary = primary.is_string() ? std::string(primary.AsString()) : record.owner;
  record.kind = std::string(document["kind"].AsString());
  record.arguments = bson::Document(document["arguments"].AsDocument());
  for (const bson::Element& e : document["names"].AsArray()) {
    if (e.value().is_string()) {
      record.names.emplace_back(e.value().AsString());
    }
  }
  return record;
}

Status ChangeRun::CheckOwner() const {
  if (context_.stopping.load()) {
    return {kInterruptedAtShutdown, "The server is shutting down"};
  }
  if (!context_.log.writable() || context_.log.epoch() != epoch_) {
    return {kInterruptedDueToReplStateChange,
            "the coordinator of the change is no longer the primary; its successor goes on"};
  }
  return Status::Ok();
}

void ChangeRun::Pause() const { std::this_thread::sleep_for(kPause); }

// Which leadership the change belongs to, and which shards take part.
Status ChangeRun::Prepare() {
  epoch_ = context_.log.epoch();
  nonce_ = bson::ObjectId::Generate().ToHex();
  RETURN_IF_ERROR(CheckOwner());
  ASSIGN_OR_RETURN(const auto list, context_.store.Fact(kShardList));
  list_ = list ? list->modified : 0;
  ASSIGN_OR_RETURN(shards_, context_.store.ReadShards());
  if (std::none_of(shards_.begin(), shards_.end(),
                   [&](const auto& shard) { return shard.name == context_.shard; })) {
    return {kShardNotFound, "shard " + context_.shard + " is not in the cluster's list of shards"};
  }
  if (!context_.leader_key.empty()) {
    ASSIGN_OR_RETURN(const auto leader, context_.store.Fact(context_.leader_key));
    if (leader) {
      ASSIGN_OR_RETURN(const bson::Document value, bson::Document::FromJson(leader->value));
      if (Number(value["epoch"]) != epoch_) {
        return {kNotWritablePrimary, "the shard has another primary"};
      }
      leader_ = leader->modified;
    }
  }
  locks_.clear();
  for (const std::string& id : change_->names()) {
    locks_.push_back({.id = id, .key = LockKey(id)});
  }
  return change_->arguments().bytes().size() > kMostArguments
             ? Status(kBSONObjectTooLarge, "the command is too large to be coordinated")
             : Status::Ok();
}

Result<std::optional<LockRecord>> ChangeRun::ReadLock(HeldLock* lock) {
  ASSIGN_OR_RETURN(const auto entry, context_.store.Fact(lock->key));
  if (!entry) {
    lock->revision = 0;
    return std::optional<LockRecord>();
  }
  lock->revision = entry->modified;
  ASSIGN_OR_RETURN(LockRecord record, DecodeLock(entry->value));
  return std::optional(std::move(record));
}

Result<bson::Document> ChangeRun::Run() {
  constexpr int kMostTries = 20;
  constexpr int kMostOvertaken = 3;
  std::set<ShardName> names;
  for (int i = 0; i < kMostTries; ++i) {
    RETURN_IF_ERROR(Prepare());
    LockSeen seen;
    bool busy = false;
    for (HeldLock& lock : locks_) {
      ASSIGN_OR_RETURN(const auto record, ReadLock(&lock));
      if (record && !record->lock.over) {
        RETURN_IF_ERROR(Resume(context_, lock.id));
        busy = true;
        break;
      }
      lock.number = record ? record->lock.stamp.number + 1 : 1;
      if (&lock == &locks_.front() && record) {
        seen = {lock.revision, record->lock};
      }
    }
    if (busy) {
      continue;
    }
    names.clear();
    for (const auto& shard : shards_) {
      names.insert(shard.name);
    }
    Coordinator coordinator(seen, nonce_, context_.shard, names);
    RETURN_IF_ERROR(Drive(coordinator));
    if (coordinator.state() == State::kBusy) {
      continue;
    }
    if (coordinator.committed()) {
      PruneJournal(context_);
      return change_->Reply();
    }
    if (overtaken_ && i < kMostOvertaken) {  // all is as it was: once more, with what is true now
      overtaken_ = false;
      problem_ = Status::Ok();
      checked_ = false;
      continue;
    }
    return problem_.ok() ? Status(kConflictingOperationInProgress, "the change was undone")
                         : problem_;
  }
  return Status(kConflictingOperationInProgress, "other changes of the collection are under way");
}

Status ChangeRun::Resume(Context& context, const std::string& id) {
  HeldLock first{.id = id, .key = LockKey(id)};
  ChangeRun reader(context, nullptr);
  ASSIGN_OR_RETURN(const auto record, reader.ReadLock(&first));
  if (!record || record->lock.over) {
    return Status::Ok();
  }
  auto change = MakeChange(record->kind, bson::Document(record->arguments));
  if (change == nullptr) {
    return {kInternalError, "a change of an unknown kind: " + record->kind};
  }
  ChangeRun run(context, std::move(change));
  run.primary_ = record->primary;
  RETURN_IF_ERROR(run.Prepare());
  LockSeen seen;
  for (HeldLock& lock : run.locks_) {
    ASSIGN_OR_RETURN(const auto own, run.ReadLock(&lock));
    if (!own || own->lock.nonce != record->lock.nonce) {
      return Status::Ok();  // it has ended meanwhile
    }
    lock.number = own->lock.stamp.number;
    if (&lock == &run.locks_.front()) {
      seen = {lock.revision, own->lock};
    }
  }
  std::set<ShardName> names;
  for (const auto& shard : run.shards_) {
    names.insert(shard.name);
  }
  log::Info("SHARDING", "A change is resumed", {{"kind", record->kind}, {"name", id}});
  Coordinator coordinator = Coordinator::Resume(seen, run.nonce_, run.primary_, names);
  run.checked_ = true;
  return run.Drive(coordinator);
}

Status ChangeRun::Drive(Coordinator& coordinator) {
  while (coordinator.state() != State::kBusy) {
    Reach(context_, change_->kind(), NameOf(coordinator.state()));
    if (coordinator.state() == State::kEnded) {
      break;
    }
    RETURN_IF_ERROR(CheckOwner());
    if (coordinator.state() == State::kLost) {
      return {kInterruptedDueToReplStateChange, "another coordinator has taken the change over"};
    }
    if (coordinator.state() == State::kPreparing && !checked_) {
      checked_ = true;
      if (Status fits = change_->Check(context_, shards_); !fits.ok()) {
        GiveUp(coordinator, std::move(fits));
        continue;
      }
    }
    if (WritesLock(coordinator.state())) {
      WriteLocks(coordinator);
    } else {
      TakeSteps(coordinator);
    }
  }
  return Status::Ok();
}

void ChangeRun::GiveUp(Coordinator& coordinator, Status why) {
  if (problem_.ok()) {
    problem_ = std::move(why);
  }
  coordinator.Abort();
}

Status ChangeRun::AddWrites(Coordinator& coordinator, coord::Transaction* transaction) {
  if (coordinator.state() == State::kDeciding) {
    RETURN_IF_ERROR(change_->Decide(context_, transaction));
    transaction->compares.push_back({std::string(kShardList), list_});
  } else if (coordinator.state() == State::kReleasing) {
    RETURN_IF_ERROR(change_->Clean(context_, coordinator.committed(), transaction));
    if (coordinator.committed()) {
      change_->AddToJournal(context_, transaction);
    }
  }
  LockRecord record;
  record.owner = context_.shard;
  record.primary = primary_;
  record.kind = std::string(change_->kind());
  record.arguments = change_->arguments();
  record.names = change_->names();
  for (const HeldLock& lock : locks_) {
    record.lock = coordinator.wanted();
    record.lock.stamp.number = lock.number;
    transaction->compares.push_back({lock.key, lock.revision});
    transaction->writes.push_back(coord::Put(lock.key, Encode(record)));
  }
  if (leader_ != 0) {
    transaction->compares.push_back({context_.leader_key, leader_});
  }
  return Status::Ok();
}

void ChangeRun::WriteLocks(Coordinator& coordinator) {
  const State before = coordinator.state();
  coord::Transaction transaction;
  if (Status fits = AddWrites(coordinator, &transaction); !fits.ok()) {
    if (before == State::kDeciding) {
      GiveUp(coordinator, std::move(fits));
    } else {
      Pause();
    }
    return;
  }
  const auto answer = context_.store.Transact(std::move(transaction));
  if (!answer.ok()) {
    coordinator.Wrote(WriteOutcome::kUnknown, {});
    Pause();
    return;
  }
  LockSeen seen;
  for (HeldLock& lock : locks_) {
    const coord::Entry* entry = context_.store.Find(*answer, lock.key);
    const auto record =
        entry == nullptr ? Result<LockRecord>(LockRecord()) : DecodeLock(entry->value);
    if (!record.ok()) {
      coordinator.Wrote(WriteOutcome::kUnknown, {});
      Pause();
      return;
    }
    lock.revision = entry == nullptr ? 0 : entry->modified;
    if (&lock == &locks_.front()) {
      seen = {lock.revision, record->lock};
    }
    if (before == State::kTaking && !answer->done && record->lock.over) {
      lock.number = record->lock.stamp.number + 1;
    }
  }
  coordinator.Wrote(answer->done ? WriteOutcome::kDone : WriteOutcome::kRefused, seen);
  if (!answer->done && coordinator.state() == before) {
    if (before == State::kDeciding) {
      overtaken_ = problem_.ok();
      GiveUp(coordinator, Status(kConflictingOperationInProgress,
                                 "the cluster's metadata changed while the command ran"));
    }
    Pause();
  }
}

StepRequest ChangeRun::StepFor(const Coordinator& coordinator, const std::string& shard) const {
  StepRequest step;
  step.kind = std::string(change_->kind());
  step.phase = coordinator.phase();
  step.arguments = change_->arguments();
  for (const HeldLock& lock : locks_) {
    StepRequest::Name name;
    name.id = lock.id;
    name.step.stamp = {lock.number, coordinator.stamp().attempt};
    name.step.phase = step.phase;
    name.step.blocks = change_->Blocks(shard, lock.id);
    if (step.phase == Phase::kCommitted) {
      if (auto outcome = change_->Outcome(shard, lock.id)) {
        name.step.placed = std::move(outcome->placed);
        name.key = std::move(outcome->key);
      }
    }
    step.names.push_back(std::move(name));
  }
  return step;
}

Result<bson::Document> ChangeRun::SendStep(const placement::ShardRecord& shard,
                                           const StepRequest& step) {
  if (shard.name == context_.shard) {
    return TakeStep(context_, step);
  }
  const bool builds = step.kind == "createIndexes" && step.phase == Phase::kPrepared;
  return context_.peers.Call(shard, Encode(step), builds ? kBuildPatience : kStepPatience);
}

void ChangeRun::TakeSteps(Coordinator& coordinator) {
  if (coordinator.state() == State::kFinishing && !told_) {
    if (const Status told = change_->Decided(context_); !told.ok()) {
      log::Warning("SHARDING", "A decided change waits for the coordination store",
                   {{"error", told.message()}});
      Pause();
      return;
    }
    told_ = true;
  }
  const Phase phase = coordinator.phase();
  std::vector<std::pair<std::string, std::future<Result<bson::Document>>>> calls;
  for (const placement::ShardRecord& shard : shards_) {
    if (coordinator.next().contains(shard.name)) {
      calls.emplace_back(
          shard.name,
          std::async(std::launch::async, [this, shard, step = StepFor(coordinator, shard.name)] {
            return SendStep(shard, step);
          }));
    }
  }
  bool waits = false;
  for (auto& [shard, call] : calls) {
    const Result<bson::Document> reply = call.get();
    if (!reply.ok()) {
      const bool open = phase != Phase::kPrepared || reply.status().code() == kHostUnreachable ||
                        reply.status().code() == kNetworkTimeout;
      if (!open) {
        if (problem_.ok()) {
          problem_ = reply.status();
        }
        coordinator.Answered(shard, phase, StepAnswer::kRefused);
        continue;
      }
      log::Warning("SHARDING", "A step of a change is tried again",
                   {{"shard", shard}, {"error", reply.status().message()}});
      coordinator.Answered(shard, phase, StepAnswer::kUnknown);
      waits = true;
    } else if ((*reply)["outOfDate"].type() == bson::Type::kBool) {
      coordinator.Answered(shard, phase, StepAnswer::kOutOfDate);
    } else {
      if (phase == Phase::kPrepared) {
        change_->Prepared(shard, reply->view());
      } else if (phase == Phase::kCommitted) {
        change_->Finished(shard, reply->view());
      }
      coordinator.Answered(shard, phase, StepAnswer::kDone);
    }
  }
  if (waits) {
    Pause();
  }
}

}  // namespace quire::shard
