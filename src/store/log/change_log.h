// SPDX-License-Identifier: Apache-2.0
//
// The change log: every change of documents and collections, ordered by cluster time, written in
// the storage transaction of the change itself. Change streams and local.oplog.rs read it.
//
// A commit takes its times, then writes. Commits may finish in another order than that of their
// times, so readers look no further than the time up to which every commit has finished: nothing
// ever appears behind a reader.
//
// In a replica set the log is the one its members agree on. The times of one commit are a slot, and
// every slot names the one handed out before it. Slots are handed out while the log is open, for
// the epoch it was opened for; a follower appends slots to its log and replays them later.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/bell.h"
#include "base/mutex.h"
#include "kv/kv.h"
#include "quire/bson.h"
#include "store/log/change_buffer.h"
#include "store/log/logical_clock.h"

namespace quire::store {

// Which collections the log covers: not those of the database local, nor system.profile.
bool IsLogged(std::string_view database, std::string_view name);

// The last slot of a log: its epoch (0: of a single server) and time.
struct LogEnd {
  uint64_t epoch = 0;
  uint64_t time = 0;

  bool operator==(const LogEnd&) const = default;
};

// Safe for concurrent use.
class ChangeLog {
 public:
  // `store` outlives it.
  explicit ChangeLog(kv::Store* store) : store_(store) {}

  // Reads where the log ends and begins. A new log gets its first entry.
  Status Open();

  LogicalClock& clock() { return clock_; }

  // Makes the buffer, which is empty, note what a commit here needs.
  void SetNotes(ChangeBuffer* buffer) const {
    if (in_set()) [[unlikely]] {
      SetNotesInSet(buffer);
    }
  }
  ChangeBuffer NewBuffer() const {
    ChangeBuffer buffer;
    SetNotes(&buffer);
    return buffer;
  }
  // Commits `txn` with the changes in `buffer`. NotWritablePrimary when there are any and the log
  // is closed. Within a ReplayScope of this thread it does as that one says.
  Status Commit(kv::Txn& txn, ChangeBuffer& buffer, kv::Durability durability);

  // Runs `look` while no commit is under way: the store holds what has a time up to Visible() and
  // nothing else, and later changes get later times than clock().Now().
  Status WhileStill(const std::function<Status()>& look);

  // The time up to which the log is complete and the store holds what it says.
  bson::Timestamp Visible() const { return UnpackTime(visible_.load(std::memory_order_acquire)); }
  // The time up to which the log may be shown: in a replica set no further than it is committed.
  bson::Timestamp Readable() const {
    return UnpackTime(std::min(visible_.load(std::memory_order_acquire),
                               commit_.load(std::memory_order_acquire)));
  }
  // Changes before this time may be gone; zero while none is.
  bson::Timestamp Oldest() const { return UnpackTime(oldest_.load(std::memory_order_acquire)); }
  // The time of the first entry there is.
  bson::Timestamp First() const { return UnpackTime(first_.load(std::memory_order_acquire)); }
  // Rings whenever Visible() or Readable() has grown.
  Bell grown;

  // Removes the oldest entries while the log is larger than `max_bytes` (0: no bound), and all
  // from before `before`; never the newest, nor what is not committed or pinned.
  Status Trim(uint64_t max_bytes, bson::Timestamp before);
  // Rings whenever so many bytes (0: never) have been written since the last Trim.
  Bell swollen;
  void SetTrimStep(uint64_t bytes) { trim_step_ = bytes; }
  uint64_t ApproximateSize();
  // With what was removed and still lies on the disk.
  uint64_t StoredSize();
  // Gives back the space of that.
  Status Compact();

  // --- Documents that the log refers to (log/references.h)
  // `work` writes and commits while nothing is cut off the log.
  Status Uncut(const std::function<Status()>& work);
  // Writes into the log what it refers to in that group of documents, which the transaction has not
  // changed yet and is going to. REQUIRES: within Uncut.
  Status WriteOut(kv::Txn& txn, TableId table, int64_t group);
  // Cuts the log off behind the group of it that refers to that group of documents; false when
  // there is none, or it cannot be cut there.
  Result<bool> CutReferring(TableId table, int64_t group);
  // Whether what the log refers to may lie in the table.
  Result<bool> MayReferTo(TableId table);
  // Writes into the log what it refers to in the table, which nobody writes any more: the newest
  // first, at least some of it, and on until `stop`. What makes the log larger than `most` bytes
  // (0: no bound), or finds no room, is cut off it. Whether it refers to nothing there now. `end`,
  // "" at first, is how far it has come, for the next call.
  Result<bool> WriteOutTable(TableId table, uint64_t most, const std::function<bool()>& stop,
                             std::string* end);
  // The same of all it refers to. REQUIRES: nobody commits.
  Status WriteOutAll(uint64_t most);

  // --- In a replica set
  // From here on the log is that of a member: closed, ending with `end`, with the store as of
  // `applied`. Set before the first operation. `grown` is called whenever Visible() moves, `broken`
  // when a slot could not be filled or the disk is full, both by whoever commits.
  void JoinSet(LogEnd end, uint64_t applied, uint64_t commit);
  struct Watch {
    std::function<void()> grown;
    std::function<void(Status)> broken;
  };
  void SetWatch(Watch watch);
  bool in_set() const { return in_set_.load(std::memory_order_relaxed); }
  // Whether commits get slots. A single server's log is always open.
  bool is_open() const { return open_.load(std::memory_order_acquire); }
  // REQUIRES: the log is closed and replayed to its end.
  void OpenFor(uint64_t epoch);
  // How often it was opened: what was read of the store by a writer is old after the next time.
  uint64_t openings() const { return openings_.load(std::memory_order_acquire); }
  // Hands out no slot any more and waits for those handed out. False: not all of them were filled.
  bool Close();
  // The last slot that was handed out or appended.
  LogEnd last() const;
  // After slots were appended or cut.
  void SetLast(LogEnd last);
  void SetCommit(uint64_t commit);
  // A single server commits what it writes.
  uint64_t commit() const { return commit_.load(std::memory_order_acquire); }
  // The latest time at which the store is known to be as it is: later changes get later times.
  bson::Timestamp Still() const;
  // Trim leaves what comes after `time` while the pin, which the log outlives, is there.
  std::shared_ptr<void> Pin(uint64_t time);

  // The keys of entries from `from` on.
  static std::string KeyOf(uint64_t time, uint32_t index);
  static kv::Range RangeFrom(uint64_t time);

 private:
  friend class ReplayScope;
  struct Slot {
    uint64_t first;
    uint64_t last;
    SlotLink link;
  };
  struct InFlight {
    uint64_t first;
    uint64_t last;
    bool done = false;
    bool filled = true;
  };
  Result<Slot> Enter(uint64_t count);
  // Around a commit that replays: what is visible is `time` after it.
  void EnterReplay(uint64_t time);
  void LeaveReplay(uint64_t time, bool committed);
  // Whether no commit is under way.
  bool Settled() const QUIRE_REQUIRES(mutex_);
  void TellGrown();
  void RingIfSwollen();
  void Leave(uint64_t first, const Status& committed, bool filled);
  Status Write(kv::Txn& txn, ChangeBuffer& buffer, const Slot& slot);
  Status WriteReferences(kv::Txn& txn, const ChangeBuffer& buffer, const Slot& slot);
  // The group of the log, by its key behind the prefix, that refers to the last group of documents
  // whose key of references.h is before `end` ("": of all the table), which moves there; "" when so
  // many in a row are of what is cut. False: there is none.
  Result<bool> FindReferring(TableId table, std::string* end, std::string* place);
  // Nothing of it is in the store any more.
  bool IsCut(std::string_view place) const;
  // Cuts off that group, too; false when it cannot be cut there.
  Result<bool> CutBehind(const std::string& place);
  // How many bytes it wrote.
  Result<uint64_t> WriteOutGroup(const std::string& place);
  // Older groups are cut off when the log gets too large by it, and the group when there is no
  // room.
  Status WriteOutOrCut(const std::string& place, uint64_t most);
  Result<uint64_t> PutWrittenOut(kv::Txn& txn, const std::string& key);
  // Fills the slot of a commit that failed.
  bool WriteVoid(const Slot& slot, const Status& why);
  Status WriteFirstEntry();
  uint64_t TrimLimit();
  void SetNotesInSet(ChangeBuffer* buffer) const;

  kv::Store* const store_;
  LogicalClock clock_;
  std::atomic<uint64_t> visible_{0};
  std::atomic<uint64_t> commit_{UINT64_MAX};
  std::atomic<uint64_t> oldest_{0};
  std::atomic<uint64_t> first_{0};
  Mutex cut_mutex_;  // of whoever cuts off, or writes out; what is cut is below first_ afterwards
  std::atomic<bool> refers_{false};   // the mark of that is in the store
  std::atomic<uint64_t> written_{0};  // bytes since the last Trim
  std::atomic<uint64_t> trim_step_{0};
  std::atomic<bool> in_set_{false};
  mutable Mutex mutex_;
  std::deque<InFlight> in_flight_ QUIRE_GUARDED_BY(mutex_);  // by time
  std::atomic<bool> open_{true};                             // changed under mutex_
  std::atomic<uint64_t> openings_{0};
  uint64_t epoch_ QUIRE_GUARDED_BY(mutex_) = 0;  // of the slots handed out
  LogEnd last_ QUIRE_GUARDED_BY(mutex_);
  std::shared_ptr<const Watch> watch_ QUIRE_GUARDED_BY(mutex_) = std::make_shared<Watch>();
  std::multiset<uint64_t> pins_ QUIRE_GUARDED_BY(mutex_);
  std::condition_variable calm_;
  int still_ QUIRE_GUARDED_BY(mutex_) = 0;  // who wants or has stillness
};

// While it lives, commits through the log on this thread take no slots: they replay those the log
// has, or undo them.
class ReplayScope {
 public:
  // Writes into the transaction what goes with a commit; the time the store is as of after it.
  using Prepare = std::function<Result<uint64_t>(kv::Txn& txn, ChangeBuffer& buffer)>;

  ReplayScope(ChangeLog& log, Prepare prepare);
  ~ReplayScope();
  ReplayScope(const ReplayScope&) = delete;
  ReplayScope& operator=(const ReplayScope&) = delete;

  // That of this thread on the log, or null.
  static ReplayScope* Current(const ChangeLog& log);
  // Whether what undoes the changes is to be noted.
  bool notes_undo = false;
  // How many commits it has seen.
  int commits = 0;

 private:
  friend class ChangeLog;
  Status Commit(kv::Txn& txn, ChangeBuffer& buffer, kv::Durability durability);

  ChangeLog& log_;
  const Prepare prepare_;
  ReplayScope* const outer_;
};

}  // namespace quire::store
