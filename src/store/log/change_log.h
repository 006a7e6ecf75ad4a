// SPDX-License-Identifier: Apache-2.0
//
// The change log: every change of documents and collections, ordered by cluster time, written in
// the storage transaction of the change itself. Change streams and local.oplog.rs read it.
//
// A commit takes its times, then writes. Commits may finish in another order than that of their
// times, so readers look no further than the time up to which every commit has finished: nothing
// ever appears behind a reader.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/bell.h"
#include "base/mutex.h"
#include "base/op_context.h"
#include "kv/kv.h"
#include "quire/bson.h"
#include "store/log/change_buffer.h"
#include "store/log/logical_clock.h"

namespace quire::store {

// Which collections the log covers: not those of the database local, nor system.profile.
bool IsLogged(std::string_view database, std::string_view name);

// Safe for concurrent use.
class ChangeLog {
 public:
  // `store` outlives it.
  explicit ChangeLog(kv::Store* store) : store_(store) {}

  // Reads where the log ends and begins. A new log gets its first entry.
  Status Open();

  LogicalClock& clock() { return clock_; }

  // Commits `txn` with the changes in `buffer`.
  Status Commit(kv::Txn& txn, ChangeBuffer& buffer, kv::Durability durability);

  // Runs `look` while no commit is under way: the store holds what has a time up to Visible() and
  // nothing else, and later changes get later times than clock().Now().
  Status WhileStill(const std::function<Status()>& look);

  // The time up to which the log is complete.
  bson::Timestamp Visible() const { return UnpackTime(visible_.load(std::memory_order_acquire)); }
  // Changes before this time may be gone; zero while none is.
  bson::Timestamp Oldest() const { return UnpackTime(oldest_.load(std::memory_order_acquire)); }
  // The time of the first entry there is.
  bson::Timestamp First() const { return UnpackTime(first_.load(std::memory_order_acquire)); }
  // Waits until something after `seen` is visible, `op` is killed or `deadline` passes.
  void Await(OpContext& op, bson::Timestamp seen, std::chrono::steady_clock::time_point deadline);
  // Rings whenever Visible() has grown.
  Bell grown;

  // Removes the oldest entries while the log is larger than `max_bytes` (0: no bound), and all
  // from before `before`; never the newest.
  Status Trim(uint64_t max_bytes, bson::Timestamp before);
  // Rings whenever so many bytes (0: never) have been written since the last Trim.
  Bell swollen;
  void SetTrimStep(uint64_t bytes) { trim_step_ = bytes; }
  uint64_t ApproximateSize();

  // The keys of entries from `from` on.
  static std::string KeyOf(uint64_t time, uint32_t index);
  static kv::Range RangeFrom(uint64_t time);

 private:
  struct InFlight {
    uint64_t first;
    uint64_t last;
    bool done = false;
  };
  uint64_t Enter(uint64_t count);
  void Leave(uint64_t first);
  Status Write(kv::Txn& txn, ChangeBuffer& buffer, uint64_t first);
  Status WriteFirstEntry();

  kv::Store* const store_;
  LogicalClock clock_;
  std::atomic<uint64_t> visible_{0};
  std::atomic<uint64_t> oldest_{0};
  std::atomic<uint64_t> first_{0};
  std::atomic<uint64_t> written_{0};  // bytes since the last Trim
  std::atomic<uint64_t> trim_step_{0};
  Mutex mutex_;
  std::deque<InFlight> in_flight_ QUIRE_GUARDED_BY(mutex_);  // by time
  std::condition_variable told_;
  int waiting_ QUIRE_GUARDED_BY(mutex_) = 0;
  std::condition_variable calm_;
  int still_ QUIRE_GUARDED_BY(mutex_) = 0;  // who wants or has stillness
};

// One change as read from the log.
struct Change {
  bson::Timestamp time;
  uint32_t index = 0;  // within its multi-document transaction
  uint32_t later = 0;  // operations of the group after this one
  char kind = 'n';     // see change_buffer.h
  int64_t wall_millis = 0;
  bool in_transaction = false;
  std::string_view lsid;
  int64_t txn_number = 0;
  std::string_view ns;
  std::string_view uuid;
  bson::View key;       // u, d: {_id}
  bson::View document;  // i, r: the document; u: the diff; c, n: {o, o2}
  std::optional<bson::View> before;
  std::optional<bson::View> after;
};

// Reads the log forwards from a time, up to what is visible when it is opened. Not safe for
// concurrent use.
class ChangeReader {
 public:
  // Begins with the first change at or after `from`.
  static Result<std::unique_ptr<ChangeReader>> Open(kv::Store& store, ChangeLog& log,
                                                    bson::Timestamp from);
  // Begins with the first change of the last group whose key is below `end`.
  static Result<std::unique_ptr<ChangeReader>> OpenGroupBefore(kv::Store& store, std::string end);

  // False at the end. The change's views are valid until the next call.
  Result<bool> Next(Change* change);
  // Every change up to this time has been or will be given.
  bson::Timestamp upto() const { return UnpackTime(upto_); }
  // The time of the first group it reads (may lie before `from`).
  uint64_t first_group() const { return first_group_; }
  // The key of the group of the change last given.
  std::string_view group_key() const { return cursor_->key(); }

 private:
  ChangeReader() = default;
  Status Start(std::string end, bool exact);
  Status ReadHeader(std::string_view key, std::string_view value);
  Status ReadOperation(Change* change);

  std::unique_ptr<kv::Txn> txn_;
  std::unique_ptr<kv::Cursor> cursor_;
  uint64_t from_ = 0;
  uint64_t first_group_ = 0;
  uint64_t upto_ = 0;
  uint64_t time_ = 0;  // of the next operation
  Change group_;       // what the operations of the group share
  std::string_view rest_;
};

}  // namespace quire::store
