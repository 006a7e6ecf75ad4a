// SPDX-License-Identifier: Apache-2.0
//
// Synced commits that come at the same time are written as one. RocksDB groups those that wait for
// it, too, but begins with the first that comes: of a few writers each then waits for a sync and a
// half. This one gathers them first. It joins batches in the form in which RocksDB logs them.
#pragma once

#include <rocksdb/status.h>
#include <rocksdb/write_batch.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <vector>

#include "base/mutex.h"

namespace quire::kv {

// The entries of all of them in their order. REQUIRES: there is one.
rocksdb::WriteBatch JoinedBatch(const std::vector<rocksdb::WriteBatch*>& batches);

// Safe for concurrent use.
class GroupCommit {
 public:
  // Writes `batch`, with those of others or alone, by `write` of whoever leads; only one runs at a
  // time. Whoever comes meanwhile is in the next group. That one is written when it has as many
  // members as there were committers lately, since those whom the last one let go mostly come back
  // at once, but no later than after the time which the last one took.
  rocksdb::Status Commit(rocksdb::WriteBatch* batch,
                         const std::function<rocksdb::Status(rocksdb::WriteBatch*)>& write);

 private:
  struct Group {
    std::vector<rocksdb::WriteBatch*> batches;
    bool done = false;
    rocksdb::Status status;
  };

  // Waits for those who are expected in the next group.
  void Gather(MutexLock& lock) QUIRE_REQUIRES(mutex_);

  Mutex mutex_;
  std::condition_variable complete_;  // the next group has all who are expected
  std::condition_variable written_;   // a group is done
  std::shared_ptr<Group> next_ QUIRE_GUARDED_BY(mutex_) = std::make_shared<Group>();
  bool led_ QUIRE_GUARDED_BY(mutex_) = false;     // somebody gathers or writes
  size_t expected_ QUIRE_GUARDED_BY(mutex_) = 0;  // members of the last group and its waiters
  std::chrono::nanoseconds took_ QUIRE_GUARDED_BY(mutex_){0};  // the last write
};

}  // namespace quire::kv
