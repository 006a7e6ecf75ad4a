// SPDX-License-Identifier: Apache-2.0
//
// Reads with readConcern "snapshot" outside transactions: what one of them saw is kept for a while,
// so that others read the same by its cluster time.
#pragma once

#include <chrono>
#include <deque>
#include <memory>

#include "base/mutex.h"
#include "kv/kv.h"
#include "quire/bson.h"
#include "quire/status.h"
#include "store/catalog.h"

namespace quire::engine {

// The node at a cluster time: every write up to it and none after it.
struct Snapshot {
  bson::Timestamp time;
  std::shared_ptr<kv::Txn> txn;
  std::shared_ptr<const store::CatalogSnapshot> catalog;  // keeps what was dropped since
};

// Safe for concurrent use.
class Snapshots {
 public:
  // Both outlive it.
  Snapshots(kv::Store* store, store::Catalog* catalog) : store_(store), catalog_(catalog) {}

  Result<std::shared_ptr<const Snapshot>> Now();
  // What has been written so far, without a time of its own: nobody else reads it, and no write
  // waits for it.
  Result<std::shared_ptr<const Snapshot>> Fleeting();
  // That of a time Now has given, or since which nothing was written. Error: SnapshotTooOld.
  // REQUIRES: the time is not one to come.
  Result<std::shared_ptr<const Snapshot>> At(bson::Timestamp time);

  // --- In a replica set, for reads of what is committed (majority, snapshot).
  // What the node shows at this moment, which may be more than is committed. It holds all up to
  // snapshot->time, and nothing after `last`: once the commit point has reached that, it is a
  // committed one. Writers are not held up.
  struct Candidate {
    uint64_t last = 0;
    std::shared_ptr<const Snapshot> snapshot;
  };
  Result<Candidate> TakeCandidate();
  // The newest that is known to be committed. ReadConcernMajorityNotAvailableYet while none is. To
  // read what a write of majority has just answered for: TakeCandidate, wait until the commit point
  // has reached its `last` (Replication::AwaitTime), read that.
  Result<std::shared_ptr<const Snapshot>> Committed();
  // REQUIRES: what the node shows now is committed. Kept until more is.
  Status KeepCommitted();
  void SetCommit(uint64_t commit);

  // The log is closed and ends at that time: what is later is not this node's to say.
  void EndAt(bson::Timestamp end);
  // Forgets those taken longer than `window` ago. The most recent ones are kept, up to a thousand.
  void Expire(std::chrono::seconds window);

 private:
  struct Kept {
    bson::Timestamp from;        // it is the node at all times from here to its own
    bson::Timestamp last_write;  // the same, as near as a look at the log told
    bson::Timestamp visible;     // of the last entry of the log, which may be a no-op
    std::chrono::steady_clock::time_point taken;
    std::shared_ptr<const Snapshot> snapshot;
  };
  Result<Kept> Take();
  void Keep(Kept taken) QUIRE_REQUIRES(mutex_);
  // Whether the log tells of a change after that time.
  Result<bool> HasChangedSince(bson::Timestamp time);

  kv::Store* const store_;
  store::Catalog* const catalog_;
  // Makes the newest candidate that the commit point has reached the committed snapshot.
  void Promote(uint64_t commit) QUIRE_REQUIRES(mutex_);
  void SetCommitted(Candidate candidate) QUIRE_REQUIRES(mutex_);
  void ExpireCommitted() QUIRE_REQUIRES(mutex_);

  Mutex mutex_;
  std::deque<Candidate> candidates_ QUIRE_GUARDED_BY(mutex_);  // oldest first
  Candidate committed_ QUIRE_GUARDED_BY(mutex_);
  std::chrono::steady_clock::time_point committed_since_ QUIRE_GUARDED_BY(mutex_);
  std::deque<Kept> kept_ QUIRE_GUARDED_BY(mutex_);  // by time
};

}  // namespace quire::engine
