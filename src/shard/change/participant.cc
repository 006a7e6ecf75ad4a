// SPDX-License-Identifier: Apache-2.0
#include "shard/change/participant.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/error_codes.h"
#include "base/try.h"
#include "shard/change/traces.h"
#include "shard/core/ledger.h"
#include "store/log/change_buffer.h"

namespace quire::shard {

namespace {

// All that is waited for in a step. Less than kMostBlocked of its coordinator: what is being
// written refuses the change, and is not taken for a shard that does not answer.
constexpr std::chrono::milliseconds kDrainTime{4000};
// For another step that has the names. Whoever asks asks again.
constexpr std::chrono::milliseconds kHoldTime{3000};

// Names that nobody enters while a step is taken; opened again unless the log keeps them blocked.
class Closed {
 public:
  explicit Closed(Context& context)
      : context_(context), until_(std::chrono::steady_clock::now() + kDrainTime) {}
  ~Closed() {
    for (const std::string& id : ids_) {
      context_.names.Open(id);
    }
    context_.changed();
  }
  Closed(const Closed&) = delete;
  Closed& operator=(const Closed&) = delete;

  // Waits for the writes and transactions that are in.
  Status Add(const std::string& id) {
    if (!context_.names.Close(id, Left())) {
      return {kLockBusy, std::string(NameOfId(id)) + " is being written"};
    }
    ids_.push_back(id);
    if (id.starts_with("c:") && !DrainTransactions(context_, NameOfId(id), Left())) {
      return {kLockBusy,
              "a transaction that has written " + std::string(NameOfId(id)) + " does not end"};
    }
    return Status::Ok();
  }

 private:
  std::chrono::milliseconds Left() const {
    return std::max(std::chrono::duration_cast<std::chrono::milliseconds>(
                        until_ - std::chrono::steady_clock::now()),
                    std::chrono::milliseconds(0));
  }

  Context& context_;
  const std::chrono::steady_clock::time_point until_;
  std::vector<std::string> ids_;
};

bson::Document OutOfDate() { return bson::Builder().Append("outOfDate", true).Finish(); }

Status TakeFirst(Context& context, const StepRequest& step, const Part& part, Closed* closed,
                 bson::Builder* reply) {
  for (const StepRequest::Name& name : step.names) {
    if (name.step.blocks) {
      RETURN_IF_ERROR(closed->Add(name.id));
    }
  }
  Traces traces(context, step);
  return part.Prepare(context, step, traces, reply);
}

// What the log says of the name when the step has been taken.
NameRecord After(NameRecord record, const StepRequest::Name& name) {
  record.known = AfterStep(record.known, name.step);
  if (name.step.placed) {
    record.key = name.key;
  }
  if (name.step.phase != Phase::kPrepared || record.begun != name.step.stamp.number) {
    record.kept = bson::Document();
    record.begun = 0;
  }
  return record;
}

}  // namespace

Result<bson::Document> TakeStep(Context& context, const StepRequest& step) {
  const Part* part = FindPart(step.kind);
  if (part == nullptr) {
    return Status(kBadValue, "unknown kind of change: " + step.kind);
  }
  Reach(context, step.kind, "asked");
  std::optional<store::NoEventScope> silent;
  if (!step.tells) {
    silent.emplace();
  }
  std::vector<std::string> ids;
  for (const StepRequest::Name& name : step.names) {
    ids.push_back(name.id);
  }
  const auto hold = context.names.Take(ids, kHoldTime);
  if (hold == nullptr) {
    return Status(kNetworkTimeout, "another step of the change is still under way");
  }
  bool taken = false;
  for (const StepRequest::Name& name : step.names) {
    const StepVerdict verdict = JudgeStep(context.names.Get(name.id).known, name.step);
    if (verdict == StepVerdict::kOutOfDate) {
      return OutOfDate();
    }
    taken = taken || verdict == StepVerdict::kTake;
  }
  if (!taken && step.phase != Phase::kPrepared) {
    return bson::Document();
  }
  Closed closed(context);
  bson::Builder reply;
  switch (step.phase) {
    case Phase::kPrepared:
      RETURN_IF_ERROR(TakeFirst(context, step, *part, &closed, &reply));
      break;
    case Phase::kCommitted:
      if (part->TakesAway()) {
        for (const StepRequest::Name& name : step.names) {
          RETURN_IF_ERROR(closed.Add(name.id));
        }
      }
      RETURN_IF_ERROR(part->Commit(context, step, &reply));
      break;
    default:
      if (const auto left =
              LeftToUndo(context.names.Get(ids.front()), step.names.front().step.stamp)) {
        RETURN_IF_ERROR(part->Undo(context, step, *left));
      }
      break;
  }
  Reach(context, step.kind, "done");
  for (const StepRequest::Name& name : step.names) {
    NameRecord record = context.names.Get(name.id);
    if (JudgeStep(record.known, name.step) == StepVerdict::kTake) {
      RETURN_IF_ERROR(SaveName(context, After(std::move(record), name)));
    }
  }
  Reach(context, step.kind, "noted");
  return reply.Finish();
}

namespace {

// Where the store says that a database is: its version on this shard, or nothing.
Result<Placed> DatabaseFact(Context& context, const std::string& id) {
  Placed placed;
  ASSIGN_OR_RETURN(const auto entry, context.store.Fact(placement::KeyOfDatabase(NameOfId(id))));
  if (entry) {
    ASSIGN_OR_RETURN(const placement::DatabaseRecord record,
                     placement::DecodeDatabase(entry->value));
    if (record.primary == context.shard &&
        record.state == placement::DatabaseRecord::State::kLive) {
      placed.version = AsVersion(record.version);
    }
  }
  return placed;
}

}  // namespace

Status Adopt(Context& context, const std::string& id, const placement::ShardVersion& version) {
  const auto hold = context.names.Take({id}, kHoldTime);
  if (hold == nullptr) {
    return {kNetworkTimeout, "a step of a change is under way"};
  }
  NameRecord record = context.names.Get(id);
  if (JudgeVersion(record.known, version) != Verdict::kUnknown) {
    return Status::Ok();
  }
  Placed placed;
  if (id.starts_with("d:")) {
    ASSIGN_OR_RETURN(placed, DatabaseFact(context, id));
  } else {
    ASSIGN_OR_RETURN(const auto facts, context.store.ReadCollection(NameOfId(id)));
    if (facts && facts->map != nullptr &&
        facts->record.state == placement::CollectionRecord::State::kLive) {
      placed = PlacedOn(*facts->map, context.shard);
      record.key = bson::Document(facts->record.key);
    }
  }
  if (placed.version.sharded && MayAdopt(record.known, placed)) {
    record.known = AfterAdoption(record.known, placed);
    RETURN_IF_ERROR(SaveName(context, record));
  }
  if (JudgeVersion(record.known, version) == Verdict::kUnknown) {
    context.names.Refute(id, version);
  }
  return Status::Ok();
}

}  // namespace quire::shard
