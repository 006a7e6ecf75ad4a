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
  // That of a time Now has given, or since which nothing was written. Error: SnapshotTooOld.
  // REQUIRES: the time is not one to come.
  Result<std::shared_ptr<const Snapshot>> At(bson::Timestamp time);

  // Forgets those taken longer than `window` ago. The most recent ones are kept, up to a thousand.
  void Expire(std::chrono::seconds window);

 private:
  struct Kept {
    bson::Timestamp last_write;  // the time of the last change in it
    std::chrono::steady_clock::time_point taken;
    std::shared_ptr<const Snapshot> snapshot;
  };
  Result<Kept> Take();

  kv::Store* const store_;
  store::Catalog* const catalog_;
  Mutex mutex_;
  std::deque<Kept> kept_ QUIRE_GUARDED_BY(mutex_);  // by time
};

}  // namespace quire::engine
