// SPDX-License-Identifier: Apache-2.0
#include "kv/rocks/disk_budget.h"

#include <rocksdb/env.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <thread>

#include "base/error_codes.h"

namespace quire::kv {
namespace {

// Others fill the disk too: it is asked before they have got far. Asking costs microseconds.
constexpr int64_t kLookMillis = 20;

int64_t NowMillis() {
  using std::chrono::steady_clock;
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

Status DiskBudget::Admit(uint64_t bytes, Purpose purpose) {
  if (db_ == nullptr) {
    return Status::Ok();
  }
  // Once in the log, once more when the write buffer goes to a file.
  constexpr uint64_t kFrame = 4096;
  const int64_t cost = static_cast<int64_t>(2 * bytes + kFrame);
  if (NowMillis() < next_look_.load(std::memory_order_relaxed) &&
      left_.fetch_sub(cost, std::memory_order_relaxed) >= cost) {
    return Status::Ok();
  }
  // Files that are being merged or flushed take their space twice until that has ended: who frees
  // space waits for it.
  constexpr int64_t kTimeoutMillis = 5000;
  const int64_t deadline = NowMillis() + kTimeoutMillis;
  while (!Fits(cost, purpose)) {
    if (purpose == Purpose::kKeep || !FilesAreWritten() || NowMillis() >= deadline) {
      return Status(kOutOfDiskSpace, "The disk of the data folder is full");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(kLookMillis));
  }
  return Status::Ok();
}

bool DiskBudget::Fits(int64_t cost, Purpose purpose) {
  const int64_t borrowed = purpose == Purpose::kFree ? kReserve - kLastReserve : 0;
  MutexLock lock(measure_mutex_);
  const int64_t left = Measure() - cost;
  constexpr int64_t kAtOnce = int64_t{64} << 20;
  left_.store(std::min(left, kAtOnce), std::memory_order_relaxed);
  next_look_.store(NowMillis() + kLookMillis, std::memory_order_relaxed);
  return left + borrowed >= 0;
}

bool DiskBudget::FilesAreWritten() const {
  uint64_t merges = 0;
  uint64_t flushes = 0;
  db_->GetIntProperty(rocksdb::DB::Properties::kNumRunningCompactions, &merges);
  db_->GetIntProperty(rocksdb::DB::Properties::kNumRunningFlushes, &flushes);
  return merges + flushes > 0;
}

int64_t DiskBudget::Measure() {
  uint64_t free = 0;
  if (!db_->GetEnv()->GetFreeSpace(folder_, &free).ok()) {
    return std::numeric_limits<int64_t>::max() / 2;  // nothing is known: nothing is refused
  }
  uint64_t unwritten = 0;
  db_->GetAggregatedIntProperty(rocksdb::DB::Properties::kCurSizeAllMemTables, &unwritten);
  return static_cast<int64_t>(free) - static_cast<int64_t>(unwritten) - kReserve;
}

}  // namespace quire::kv
