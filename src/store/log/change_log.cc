// SPDX-License-Identifier: Apache-2.0
#include "store/log/change_log.h"

#include <algorithm>
#include <cstring>

#include "base/error_codes.h"
#include "base/log.h"
#include "base/try.h"
#include "store/layout.h"

namespace quire::store {

namespace {

int64_t WallMillis() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

bool IsLogged(std::string_view database, std::string_view name) {
  return database != "local" && name != "system.profile";
}

std::string ChangeLog::KeyOf(uint64_t time, uint32_t index) {
  std::string key = MetaKey(kLogKind, "");
  AppendBigEndian(time, &key);
  AppendBigEndian(index, &key);
  return key;
}

kv::Range ChangeLog::RangeFrom(uint64_t time) {
  return {KeyOf(time, 0), kv::PrefixEnd(MetaKey(kLogKind, ""))};
}

Status ChangeLog::Commit(kv::Txn& txn, ChangeBuffer& buffer, kv::Durability durability) {
  if (in_set()) [[unlikely]] {
    if (ReplayScope* replay = ReplayScope::Current(*this)) {
      return replay->Commit(txn, buffer, durability);
    }
  }
  if (buffer.empty()) {
    return txn.Commit(durability);
  }
  ASSIGN_OR_RETURN(const Slot slot, Enter(buffer.in_transaction() ? 1 : buffer.count()));
  buffer.SetSlot({slot.link.epoch, slot.last});
  Status status = Write(txn, buffer, slot);
  if (status.ok()) {
    status = txn.Commit(durability);
  }
  if (buffer.refers() && status.ok()) {
    refers_.store(true, std::memory_order_release);
  }
  const bool filled = status.ok() || slot.link.epoch == 0 || WriteVoid(slot, status);
  Leave(slot.first, status, filled);
  RingIfSwollen();
  return status;
}

void ChangeLog::RingIfSwollen() {
  const uint64_t step = trim_step_.load(std::memory_order_relaxed);
  if (step > 0 && written_.load(std::memory_order_relaxed) >= step) [[unlikely]] {
    swollen.Ring();
  }
}

Status ChangeLog::Write(kv::Txn& txn, ChangeBuffer& buffer, const Slot& slot) {
  RETURN_IF_ERROR(buffer.undo().ForEachRecord([&](uint32_t record, std::string_view bytes) {
    return txn.Put(UndoKey(slot.last, record), bytes, {.is_new = true, .outlives = true});
  }));
  auto write = [&](uint32_t index, std::string_view group) {
    written_.fetch_add(group.size(), std::memory_order_relaxed);
    return txn.Put(
        buffer.in_transaction() ? KeyOf(slot.first, index) : KeyOf(slot.first + index, 0), group,
        {.is_new = true, .outlives = true});
  };
  if (buffer.refers()) {
    RETURN_IF_ERROR(WriteReferences(txn, buffer, slot));
  }
  return buffer.ForEachGroup(WallMillis(), slot.link, write);
}

bool ChangeLog::WriteVoid(const Slot& slot, const Status& why) {
  auto fill = [&]() -> Status {
    ASSIGN_OR_RETURN(auto txn, store_->Begin({}));
    const std::string group = ChangeBuffer::VoidGroup(WallMillis(), slot.link);
    RETURN_IF_ERROR(txn->Put(KeyOf(slot.last, 0), group));
    return txn->Commit(kv::Durability::kProcess);
  };
  const Status filled = fill();
  log::Warning("REPL",
               filled.ok() ? "A commit failed; its place in the log holds no change"
                           : "A place in the log has no entry",
               {{"error", why.ToString()}});
  return filled.ok();
}

Result<ChangeLog::Slot> ChangeLog::Enter(uint64_t count) {
  MutexLock lock(mutex_);
  if (still_ > 0) [[unlikely]] {
    calm_.wait(lock.native(), [&]() QUIRE_REQUIRES(mutex_) { return still_ == 0; });
  }
  if (!open_) [[unlikely]] {
    // Not NotWritablePrimary, which says that nothing was done: the operation may have committed
    // other things before.
    return Status(kInterruptedDueToReplStateChange,
                  "operation was interrupted: the member is no longer the primary");
  }
  const uint64_t first = PackTime(clock_.Tick(count));
  const Slot slot{first, first + count - 1, {epoch_, last_.time}};
  last_ = {epoch_, slot.last};
  in_flight_.push_back({slot.first, slot.last});
  return slot;
}

void ChangeLog::Leave(uint64_t first, const Status& committed, bool filled) {
  bool moved = false;
  std::shared_ptr<const Watch> watch;
  {
    MutexLock lock(mutex_);
    auto mine = std::lower_bound(in_flight_.begin(), in_flight_.end(), first,
                                 [](const InFlight& f, uint64_t time) { return f.first < time; });
    mine->done = true;
    mine->filled = filled;
    while (!in_flight_.empty() && in_flight_.front().done && in_flight_.front().filled) {
      visible_.store(in_flight_.front().last, std::memory_order_release);
      in_flight_.pop_front();
      moved = true;
    }
    if (still_ > 0 || !open_) [[unlikely]] {
      calm_.notify_all();
    }
    if (in_set()) [[unlikely]] {
      watch = watch_;
    }
  }
  grown.Ring();
  if (watch != nullptr) [[unlikely]] {
    if (moved && watch->grown) {
      watch->grown();
    }
    if (watch->broken && (!filled || committed.code() == kOutOfDiskSpace)) {
      watch->broken(committed);
    }
  }
}

Status ChangeLog::WhileStill(const std::function<Status()>& look) {
  MutexLock lock(mutex_);
  ++still_;
  calm_.wait(lock.native(), [&]() QUIRE_REQUIRES(mutex_) { return Settled(); });
  Status seen = look();
  if (--still_ == 0) {
    calm_.notify_all();
  }
  return seen;
}

// What was cut may lie on disk for a while: it does not count.
uint64_t ChangeLog::ApproximateSize() { return store_->ApproximateSize(RangeFrom(first_.load())); }

uint64_t ChangeLog::StoredSize() { return store_->ApproximateSize(RangeFrom(0)); }

Status ChangeLog::Compact() { return store_->Compact(RangeFrom(0)); }

}  // namespace quire::store
