// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <thread>

#include "base/error_codes.h"
#include "base/log.h"
#include "base/try.h"
#include "engine/engine.h"
#include "engine/replica/apply.h"
#include "engine/replica/log_slots.h"
#include "engine/replica/replica_data.h"
#include "engine/replica/rollback.h"
#include "store/log/note.h"
#include "store/log/set_marks.h"

namespace quire::engine {

namespace {

using store::AppliedMark;
using store::ChangeLog;
using store::LogEnd;

LogPosition PositionOf(LogEnd end) { return {end.epoch, end.time}; }

class Data final : public ReplicaData {
 public:
  Data(Engine* engine, std::string rollback_folder)
      : engine_(*engine), rollback_folder_(std::move(rollback_folder)) {}
  ~Data() override { log().SetWatch({}); }

  Result<ReplicaStart> Start() override;
  Status SaveLocal(bson::View local) override;

  void OpenLog(uint64_t epoch) override;
  Result<LogEnds> CloseLog() override;
  Result<LogPosition> WriteNoop(bson::View note) override;
  LogPosition LastSlot() const override { return PositionOf(engine_.log().last()); }
  int64_t WallOf(uint64_t time) const override;
  uint64_t Visible() const override {
    ChangeLog& log = engine_.log();
    return log.is_open() ? store::PackTime(log.Visible()) : log.last().time;
  }
  void OnGrown(std::function<void()> grown) override {
    watch_.grown = std::move(grown);
    log().SetWatch(watch_);
  }
  void OnBroken(std::function<void(Status)> broken) override {
    watch_.broken = std::move(broken);
    log().SetWatch(watch_);
  }

  Result<std::vector<LogSlot>> ReadSlots(LogPosition after, uint64_t last,
                                         size_t most_bytes) override;
  Status SyncLog() override { return store().SyncBehind(); }
  void SetCommit(uint64_t commit) override;
  void Tidy() override;
  uint64_t Applied() const override { return store::PackTime(engine_.log().Visible()); }
  Status KeepCommittedSnapshot() override { return engine_.snapshots().KeepCommitted(); }

  Status Append(std::span<const LogSlot> slots) override;
  Result<uint64_t> Apply(uint64_t up_to) override;
  Status Cut(LogPosition after) override;

  Result<LogPosition> Checkpoint(const std::string& folder) override;
  std::shared_ptr<void> PinLog(uint64_t time) override { return log().Pin(time); }

 private:
  ChangeLog& log() { return engine_.log(); }
  kv::Store& store() { return engine_.store(); }
  // What can be undone begins where neither the mark nor a known commit point says otherwise.
  uint64_t UndoBegin() const {
    return std::max(mark_.undo_begin, std::min(saved_commit_.load(), mark_.applied));
  }
  Result<LogEnds> Ends();
  Status CutTo(uint64_t after);
  Status SaveMark();

  Engine& engine_;
  const std::string rollback_folder_;
  ChangeLog::Watch watch_;
  AppliedMark mark_;  // of whoever appends, applies, opens and closes
  std::atomic<uint64_t> commit_{0};
  std::atomic<uint64_t> saved_commit_{0};
};

Result<ReplicaStart> Data::Start() {
  ReplicaStart start;
  // What a single server wrote, for the others have no groups to look into.
  RETURN_IF_ERROR(log().WriteOutAll(engine_.log_bytes));
  LogEnd end;
  bool led = true;
  {
    ASSIGN_OR_RETURN(auto txn, store().Begin({.read_only = true}));
    ASSIGN_OR_RETURN(start.local, store::ReadLocal(*txn));
    ASSIGN_OR_RETURN(const auto mark, store::ReadApplied(*txn));
    ASSIGN_OR_RETURN(const auto group, GroupBefore(*txn, UINT64_MAX));
    if (group) {
      end = {group->link.epoch, group->last};
    }
    ASSIGN_OR_RETURN(const uint64_t commit, store::ReadCommit(*txn));
    commit_ = commit;
    saved_commit_ = commit;
    mark_ = mark.value_or(AppliedMark{AppliedMark::kAll, 0, end.time});
    led = mark_.applied == AppliedMark::kAll;
  }
  if (led) {
    mark_.applied = end.time;
  }
  log().JoinSet(end, mark_.applied, commit_);
  ASSIGN_OR_RETURN(const LogEnd linked, LinkedEnd(store(), UndoBegin()));
  RETURN_IF_ERROR(CutTo(linked.time));
  RETURN_IF_ERROR(SaveMark());
  ASSIGN_OR_RETURN(start.log, Ends());
  start.applied = mark_.applied;
  start.commit = commit_;
  return start;
}

Status Data::SaveLocal(bson::View local) {
  ASSIGN_OR_RETURN(auto txn, store().Begin({}));
  RETURN_IF_ERROR(store::WriteLocal(*txn, local));
  return txn->Commit(kv::Durability::kDisk);
}

Status Data::SaveMark() {
  ASSIGN_OR_RETURN(auto txn, store().Begin({}));
  RETURN_IF_ERROR(store::WriteApplied(*txn, mark_));
  return txn->Commit(kv::Durability::kProcess);
}

Result<LogEnds> Data::Ends() {
  ASSIGN_OR_RETURN(auto txn, store().Begin({.read_only = true}));
  ASSIGN_OR_RETURN(LogEnds ends, ReadLogEnds(*txn, log().last()));
  ends.undo_begin = UndoBegin();
  return ends;
}

void Data::OpenLog(uint64_t epoch) {
  auto save = [&]() -> Status {
    ASSIGN_OR_RETURN(auto txn, store().Begin({}));
    const LogEnd last = log().last();
    if (last.epoch != epoch) {
      RETURN_IF_ERROR(store::WriteEpochEnd(*txn, last));
    }
    AppliedMark leading = mark_;
    leading.applied = AppliedMark::kAll;
    RETURN_IF_ERROR(store::WriteApplied(*txn, leading));
    return txn->Commit(kv::Durability::kProcess);
  };
  const Status saved = save();
  if (!saved.ok()) {
    if (watch_.broken) {
      watch_.broken(saved);
    }
    return;
  }
  log().OpenFor(epoch);
}

Result<LogEnds> Data::CloseLog() {
  const bool whole = log().Close();
  if (!whole) {
    ASSIGN_OR_RETURN(auto txn, store().Begin({.read_only = true}));
    ASSIGN_OR_RETURN(const auto group, GroupBefore(*txn, UINT64_MAX));
    log().SetLast(group ? LogEnd{group->link.epoch, group->last} : LogEnd());
  }
  mark_.applied = log().last().time;
  engine_.snapshots().EndAt(store::UnpackTime(mark_.applied));
  if (!whole) {
    ASSIGN_OR_RETURN(const LogEnd linked, LinkedEnd(store(), Applied()));
    RETURN_IF_ERROR(CutTo(linked.time));
  }
  RETURN_IF_ERROR(SaveMark());
  return Ends();
}

Result<LogPosition> Data::WriteNoop(bson::View note) {
  ASSIGN_OR_RETURN(const auto slot,
                   store::WriteNote(store(), log(), note, kv::Durability::kProcess));
  return PositionOf({slot.epoch, slot.time});
}

int64_t Data::WallOf(uint64_t time) const {
  auto look = [&]() -> Result<std::optional<store::GroupHeader>> {
    ASSIGN_OR_RETURN(auto txn, engine_.store().Begin({.read_only = true}));
    return GroupBefore(*txn, time);
  };
  const auto group = look();
  return group.ok() && *group ? (*group)->wall_millis : static_cast<int64_t>(time >> 32) * 1000;
}

Result<std::vector<LogSlot>> Data::ReadSlots(LogPosition after, uint64_t last, size_t most_bytes) {
  std::vector<LogSlot> slots;
  ASSIGN_OR_RETURN(auto cursor, SlotCursor::Open(store(), after.time));
  size_t bytes = 0;
  uint64_t end = after.time;
  while (slots.empty() || bytes < most_bytes) {
    LogSlot slot;
    ASSIGN_OR_RETURN(const bool more, cursor->Next(&slot));
    if (!more || slot.at.time > last) {
      break;
    }
    if (slot.previous != end) {
      return Status(kCappedPositionLost,
                    "The log no longer reaches back to " + std::to_string(after.time));
    }
    end = slot.at.time;
    bytes += slot.bytes();
    slots.push_back(std::move(slot));
  }
  return slots;
}

void Data::SetCommit(uint64_t commit) {
  uint64_t known = commit_.load();
  while (known < commit && !commit_.compare_exchange_weak(known, commit)) {
  }
  if (known >= commit) {
    return;
  }
  log().SetCommit(commit);
  engine_.snapshots().SetCommit(commit);
}

void Data::Tidy() {
  const uint64_t reached = std::min(commit_.load(), Applied());
  if (reached <= saved_commit_.load()) {
    return;
  }
  auto tidy = [&]() -> Status {
    ASSIGN_OR_RETURN(auto txn, store().Begin({}));
    RETURN_IF_ERROR(store::WriteCommit(*txn, reached));
    RETURN_IF_ERROR(txn->Commit(kv::Durability::kProcess));
    saved_commit_ = reached;
    return store().DeleteRange(store::UndoRange(0, reached + 1));
  };
  const Status tidied = tidy();
  if (!tidied.ok()) {
    log::Warning("REPL", "What was committed could not be noted", {{"error", tidied.message()}});
    return;
  }
  engine_.catalog().ReclaimDropped(reached);
}

Status Data::Append(std::span<const LogSlot> slots) {
  if (slots.empty()) {
    return Status::Ok();
  }
  LogEnd last = log().last();
  ASSIGN_OR_RETURN(auto txn, store().Begin({}));
  const std::string prefix = store::MetaKey(store::kLogKind, "");
  for (const LogSlot& slot : slots) {
    if (slot.previous != last.time || slot.at.time <= last.time || slot.at.epoch < last.epoch) {
      return {kOplogOutOfOrder,
              "A slot does not follow the log's end, " + std::to_string(last.time)};
    }
    if (slot.at.epoch != last.epoch && last.time != 0) {
      RETURN_IF_ERROR(store::WriteEpochEnd(*txn, last));
    }
    for (const LogSlot::Group& group : slot.groups) {
      RETURN_IF_ERROR(txn->Put(prefix + group.key, group.value, {.outlives = true}));
    }
    last = {slot.at.epoch, slot.at.time};
  }
  RETURN_IF_ERROR(txn->Commit(kv::Durability::kProcess));
  log().SetLast(last);
  return Status::Ok();
}

Result<uint64_t> Data::Apply(uint64_t up_to) {
  constexpr int kMostAttempts = 1000;
  for (int attempt = 0;; ++attempt) {
    const Status applied = ApplyBatch(engine_, commit_.load(), &mark_).Run(up_to);
    if (applied.ok()) {
      return mark_.applied;
    }
    const bool passing = applied.code() == kWriteConflict || applied.code() == kLockTimeout;
    if (!passing || attempt >= kMostAttempts) {
      return applied;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

Status Data::Cut(LogPosition after) { return CutTo(after.time); }

Status Data::CutTo(uint64_t after) {
  if (after >= log().last().time) {
    return Status::Ok();
  }
  AppliedMark& mark = mark_;
  mark.undo_begin = UndoBegin();
  if (after < mark.applied && after < mark.undo_begin) {
    return {kUnrecoverableRollbackError,
            "What undoes the changes behind " + std::to_string(after) + " is no longer there"};
  }
  RETURN_IF_ERROR(Rollback(engine_, rollback_folder_, &mark).Cut(after));
  engine_.snapshots().Expire(std::chrono::seconds(0));  // they may show what was undone
  return Status::Ok();
}

Result<LogPosition> Data::Checkpoint(const std::string& folder) {
  // Slots that are handed out meanwhile may be in it, too.
  LogEnd end = log().last();
  if (log().is_open()) {
    ASSIGN_OR_RETURN(auto txn, store().Begin({.read_only = true}));
    ASSIGN_OR_RETURN(const auto group, GroupBefore(*txn, Visible()));
    end = group ? LogEnd{group->link.epoch, group->last} : LogEnd();
  }
  RETURN_IF_ERROR(store().Checkpoint(folder));
  return PositionOf(end);
}

}  // namespace

std::unique_ptr<ReplicaData> MakeReplicaData(Engine* engine, std::string rollback_folder) {
  return std::make_unique<Data>(engine, std::move(rollback_folder));
}

}  // namespace quire::engine
