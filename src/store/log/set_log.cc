// SPDX-License-Identifier: Apache-2.0
//
// The change log as a member of a replica set has it.
#include "base/error_codes.h"
#include "base/try.h"
#include "store/log/change_log.h"

namespace quire::store {

namespace {

thread_local ReplayScope* replaying = nullptr;

}  // namespace

bool ChangeLog::Settled() const {
  return std::all_of(in_flight_.begin(), in_flight_.end(),
                     [](const InFlight& one) { return one.done; });
}

void ChangeLog::SetNotesInSet(ChangeBuffer* buffer) const {
  const ReplayScope* replay = ReplayScope::Current(*this);
  if (replay == nullptr) {
    buffer->NoteUndo();
  } else if (replay->notes_undo) {
    buffer->NoteUndo(/*changes=*/false);
  } else {
    buffer->NoteNothing();
  }
}

void ChangeLog::JoinSet(LogEnd end, uint64_t applied, uint64_t commit) {
  MutexLock lock(mutex_);
  in_set_ = true;
  open_ = false;
  last_ = end;
  visible_ = applied;
  commit_ = commit;
}

void ChangeLog::SetWatch(Watch watch) {
  auto shared = std::make_shared<const Watch>(std::move(watch));
  MutexLock lock(mutex_);
  watch_ = std::move(shared);
}

void ChangeLog::OpenFor(uint64_t epoch) {
  MutexLock lock(mutex_);
  epoch_ = epoch;
  openings_.fetch_add(1, std::memory_order_release);
  open_ = true;
}

bool ChangeLog::Close() {
  MutexLock lock(mutex_);
  open_ = false;
  calm_.wait(lock.native(), [&]() QUIRE_REQUIRES(mutex_) { return Settled(); });
  const bool whole = in_flight_.empty();
  in_flight_.clear();
  return whole;
}

LogEnd ChangeLog::last() const {
  MutexLock lock(mutex_);
  return last_;
}

void ChangeLog::SetLast(LogEnd last) {
  clock_.Advance(UnpackTime(last.time));
  MutexLock lock(mutex_);
  last_ = last;
}

void ChangeLog::SetCommit(uint64_t commit) {
  commit_.store(commit, std::memory_order_release);
  TellGrown();
}

void ChangeLog::TellGrown() {
  std::shared_ptr<const Watch> watch;
  {
    MutexLock lock(mutex_);
    watch = watch_;
  }
  grown.Ring();
  if (watch->grown) {
    watch->grown();
  }
}

void ChangeLog::EnterReplay(uint64_t time) {
  MutexLock lock(mutex_);
  calm_.wait(lock.native(), [&]() QUIRE_REQUIRES(mutex_) { return still_ == 0; });
  in_flight_.push_back({time, time});
}

void ChangeLog::LeaveReplay(uint64_t time, bool committed) {
  {
    MutexLock lock(mutex_);
    in_flight_.clear();  // nobody else commits while the log is closed
    if (committed) {
      visible_.store(time, std::memory_order_release);
    }
    calm_.notify_all();
  }
  TellGrown();
}

bson::Timestamp ChangeLog::Still() const { return is_open() ? clock_.Now() : Visible(); }

std::shared_ptr<void> ChangeLog::Pin(uint64_t time) {
  MutexLock lock(mutex_);
  auto place = pins_.insert(time);
  return {static_cast<void*>(this), [this, place](void*) {
            MutexLock relock(mutex_);
            pins_.erase(place);
          }};
}

uint64_t ChangeLog::TrimLimit() {
  const uint64_t readable = PackTime(Readable());
  MutexLock lock(mutex_);
  return pins_.empty() ? readable : std::min(readable, *pins_.begin());
}

ReplayScope::ReplayScope(ChangeLog& log, Prepare prepare)
    : log_(log), prepare_(std::move(prepare)), outer_(replaying) {
  replaying = this;
}

ReplayScope::~ReplayScope() { replaying = outer_; }

ReplayScope* ReplayScope::Current(const ChangeLog& log) {
  return replaying != nullptr && &replaying->log_ == &log ? replaying : nullptr;
}

Status ReplayScope::Commit(kv::Txn& txn, ChangeBuffer& buffer, kv::Durability durability) {
  ASSIGN_OR_RETURN(const uint64_t time, prepare_(txn, buffer));
  log_.EnterReplay(time);
  Status status = txn.Commit(durability);
  log_.LeaveReplay(time, status.ok());
  commits += status.ok() ? 1 : 0;
  return status;
}

}  // namespace quire::store
