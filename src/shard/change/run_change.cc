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
// How long names are blocked for shards that do not answer before anything is decided, and how long
// they are waited for by a change that blocks nothing.
constexpr milliseconds kMostBlocked{5000};
constexpr milliseconds kMostSilent{30'000};
constexpr milliseconds kLeastTimeout{500};
constexpr milliseconds kUndoTimeout{5000};
constexpr milliseconds kStepTimeout{30'000};
constexpr milliseconds kBuildTimeout{24 * 3600 * 1000};
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
  if (!record.request.empty()) {
    out.Append("request", record.request);
  }
  if (record.reply) {
    out.Append("reply", *record.reply);
  }
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
  if (const bson::Value request = document["request"]; request.is_string()) {
    record.request = std::string(request.AsString());
  }
  if (const bson::Value reply = document["reply"]; reply.is_document()) {
    record.reply = bson::Document(reply.AsDocument());
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
  request_ = context_.client.id;
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
    if (left_open_) {
      context_.left_open(locks_.front().id);
      break;
    }
    if (coordinator.committed()) {
      PruneJournal(context_);
      return change_->Reply();
    }
    if (overtaken_ && i < kMostOvertaken) {  // all is as it was: once more, with what is true now
      overtaken_ = false;
      problem_ = Status::Ok();
      checked_ = false;
      waits_since_.reset();
      continue;
    }
    return problem_.ok() ? Status(kConflictingOperationInProgress, "the change was undone")
                         : problem_;
  }
  return problem_.ok() ? Status(kConflictingOperationInProgress,
                                "other changes of the collection are under way")
                       : problem_;
}

Result<std::optional<bson::Document>> ChangeRun::EarlierReply(Context& context,
                                                              const std::string& id,
                                                              const std::string& request) {
  const Known known = context.names.Get(id).known;
  if (request.empty() || (known.stamp.number == 0 && !known.placed.version.sharded)) {
    return std::optional<bson::Document>();  // nobody has ever changed it
  }
  HeldLock lock{.id = id, .key = LockKey(id)};
  ChangeRun reader(context, nullptr);
  ASSIGN_OR_RETURN(auto record, reader.ReadLock(&lock));
  if (!record || record->request != request) {
    return std::optional<bson::Document>();
  }
  if (!record->lock.over) {
    RETURN_IF_ERROR(Resume(context, record->names.front()));
    ASSIGN_OR_RETURN(record, reader.ReadLock(&lock));
  }
  return record && record->request == request ? std::move(record->reply)
                                              : std::optional<bson::Document>();
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
  run.request_ = record->request;
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
  RETURN_IF_ERROR(run.Drive(coordinator));
  return run.left_open_
             ? Status(kHostUnreachable, "a change of " + std::string(NameOfId(id)) +
                                            " was undone, and shards that took part do not answer")
             : Status::Ok();
}

Status ChangeRun::Drive(Coordinator& coordinator) {
  while (coordinator.state() != State::kBusy) {
    Reach(context_, change_->kind(), NameOf(coordinator.state()));
    if (coordinator.state() == State::kEnded || left_open_) {
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
  if (coordinator.state() == State::kReleasing && coordinator.committed()) {
    if (auto reply = change_->Reply(); reply.ok()) {
      record.reply = *std::move(reply);
    }
  }
  record.request = request_;
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
  const auto seen = ReadLocks(*answer, before == State::kTaking);
  if (!seen.ok()) {
    coordinator.Wrote(WriteOutcome::kUnknown, {});
    Pause();
    return;
  }
  coordinator.Wrote(answer->done ? WriteOutcome::kDone : WriteOutcome::kRefused, *seen);
  if (!answer->done && coordinator.state() == before) {
    if (before == State::kDeciding) {
      overtaken_ = problem_.ok();
      GiveUp(coordinator, Status(kConflictingOperationInProgress,
                                 "the cluster's metadata changed while the command ran"));
    }
    Pause();
  }
}

Result<LockSeen> ChangeRun::ReadLocks(const coord::Answer& answer, bool taking) {
  std::vector<LockSeen> seen;
  for (HeldLock& lock : locks_) {
    const coord::Entry* entry = context_.store.Find(answer, lock.key);
    LockRecord record;
    if (entry != nullptr) {
      ASSIGN_OR_RETURN(record, DecodeLock(entry->value));
    }
    lock.revision = entry == nullptr ? 0 : entry->modified;
    seen.push_back({lock.revision, record.lock});
    if (taking && !answer.done && record.lock.over) {
      lock.number = record.lock.stamp.number + 1;
    }
  }
  return MostTelling(seen, nonce_);
}

StepRequest ChangeRun::StepFor(const Coordinator& coordinator, const std::string& shard) const {
  StepRequest step;
  step.kind = std::string(change_->kind());
  step.phase = coordinator.phase();
  step.arguments = change_->arguments();
  step.tells = shard == primary_;
  if (change_->Builds() && context_.client.until != Clock::time_point::max()) {
    step.limit =
        std::max(milliseconds(1),
                 std::chrono::duration_cast<milliseconds>(context_.client.until - Clock::now()));
  }
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
                                           const StepRequest& step, milliseconds timeout) {
  if (shard.name == context_.shard) {
    return TakeStep(context_, step);
  }
  return context_.peers.Call(shard, Encode(step), timeout);
}

bool ChangeRun::Blocks() const {
  return std::any_of(shards_.begin(), shards_.end(), [&](const placement::ShardRecord& shard) {
    return std::any_of(locks_.begin(), locks_.end(),
                       [&](const HeldLock& lock) { return change_->Blocks(shard.name, lock.id); });
  });
}

// How long a shard has for its answer.
milliseconds ChangeRun::TimeoutOf(const StepRequest& step) const {
  if (step.phase == Phase::kUndone) {
    return kUndoTimeout;
  }
  if (step.phase == Phase::kCommitted) {
    return kStepTimeout;
  }
  if (change_->Builds()) {
    // Its own limit comes first.
    return step.limit.count() > 0 ? step.limit + kLeastTimeout : kBuildTimeout;
  }
  if (!Blocks()) {
    return kStepTimeout;
  }
  const auto left = std::chrono::duration_cast<milliseconds>(waits_since_.value_or(Clock::now()) +
                                                             kMostBlocked - Clock::now());
  return std::max(left, kLeastTimeout);
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
  if (phase == Phase::kPrepared && !waits_since_ && Blocks()) {
    waits_since_ = Clock::now();
  }
  std::vector<std::pair<std::string, std::future<Result<bson::Document>>>> calls;
  for (const placement::ShardRecord& shard : shards_) {
    if (coordinator.next().contains(shard.name)) {
      calls.emplace_back(
          shard.name,
          std::async(std::launch::async, [this, shard, step = StepFor(coordinator, shard.name)] {
            return SendStep(shard, step, TimeoutOf(step));
          }));
    }
  }
  bool answered = true;
  for (auto& [shard, call] : calls) {
    answered = TakeAnswer(coordinator, shard, phase, call.get()) && answered;
  }
  if (!answered) {
    Await(coordinator);
    return;
  }
  away_.reset();
  if (!Blocks()) {
    waits_since_.reset();
  }
}

bool ChangeRun::TakeAnswer(Coordinator& coordinator, const std::string& shard, Phase phase,
                           const Result<bson::Document>& reply) {
  if (!reply.ok()) {
    const bool open = phase != Phase::kPrepared || reply.status().code() == kHostUnreachable ||
                      reply.status().code() == kNetworkTimeout;
    if (!open) {
      if (problem_.ok()) {
        problem_ = reply.status();
      }
      coordinator.Answered(shard, phase, StepAnswer::kRefused);
      return true;
    }
    log::Warning("SHARDING", "A step of a change is tried again",
                 {{"shard", shard}, {"error", reply.status().message()}});
    coordinator.Answered(shard, phase, StepAnswer::kUnknown);
    return false;
  }
  if ((*reply)["outOfDate"].type() == bson::Type::kBool) {
    coordinator.Answered(shard, phase, StepAnswer::kOutOfDate);
    return true;
  }
  if (phase == Phase::kPrepared) {
    change_->Prepared(shard, reply->view());
  } else if (phase == Phase::kCommitted) {
    change_->Finished(shard, reply->view());
  }
  coordinator.Answered(shard, phase, StepAnswer::kDone);
  return true;
}

// Before the decision shards are not waited for without end; undoing is left to whoever comes by
// when they are there again, and only what is decided has to be done.
void ChangeRun::Await(Coordinator& coordinator) {
  if (coordinator.state() == State::kUndoing) {
    left_open_ = true;
    return;
  }
  if (coordinator.state() == State::kFinishing && !away_) {
    away_.emplace();
  }
  if (coordinator.state() == State::kPreparing) {
    const Clock::time_point now = Clock::now();
    waits_since_ = waits_since_.value_or(now);
    if (now >= context_.client.until) {
      GiveUp(coordinator, {kMaxTimeMSExpired, "operation exceeded time limit"});
    } else if (now - *waits_since_ >= (Blocks() ? kMostBlocked : kMostSilent)) {
      GiveUp(coordinator, {kHostUnreachable, "a shard that takes part does not answer"});
    }
  }
  Pause();
}

}  // namespace quire::shard
