// SPDX-License-Identifier: Apache-2.0
//
// A Store that fails on purpose, for tests: it passes every call to another store unless the plan
// says that this one fails.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>

#include "base/mutex.h"
#include "kv/kv.h"
#include "quire/status.h"

namespace quire::kv {

// The kinds of calls a plan can fail.
enum class FaultPoint {
  kBegin,   // Store::Begin
  kRead,    // Get, MultiGet, Scan and each move of a cursor
  kWrite,   // Put, Delete, Add
  kClaim,   // Claim
  kCommit,  // Commit of a transaction that may write; the transaction is rolled back
  kLoad,    // each call of a SortedLoader
  kAdmin,   // DeleteRange, Sync, SyncBehind, Checkpoint, Compact
  kHealth,  // Health
};
constexpr size_t kFaultPoints = 8;

// Which calls fail and how. Safe for concurrent use. The default plan fails nothing.
class FaultPlan {
 public:
  // The nth call from now (1 = the next one) fails with `error`, once.
  void FailNth(FaultPoint point, uint64_t nth, Status error);
  // The nth call from now runs `action` before it does its work, once. The action may use the
  // store.
  void RunAtNth(FaultPoint point, uint64_t nth, std::function<void()> action);
  // Every call fails with this probability; the same seed gives the same choices.
  void FailRandomly(FaultPoint point, double probability, uint64_t seed, Status error);
  // While set, commits, loads and DeleteRange fail with OutOfDiskSpace.
  void SetDiskFull(bool full);
  // Forgets all faults.
  void Clear();

  // Calls seen so far.
  uint64_t calls(FaultPoint point);
  // For FaultStore: counts a call; the error it must fail with, or ok.
  Status Check(FaultPoint point);

 private:
  struct Rule {
    uint64_t calls = 0;
    uint64_t fail_at = 0;  // 0: never
    uint64_t run_at = 0;   // 0: never
    std::function<void()> action;
    double probability = 0;
    std::mt19937_64 random;
    Status nth_error;
    Status random_error;
  };
  Mutex mutex_;
  std::array<Rule, kFaultPoints> rules_ QUIRE_GUARDED_BY(mutex_);
  bool disk_full_ QUIRE_GUARDED_BY(mutex_) = false;
};

// REQUIRES: `plan` outlives the store.
std::unique_ptr<Store> NewFaultStore(std::unique_ptr<Store> base, FaultPlan& plan);

}  // namespace quire::kv
