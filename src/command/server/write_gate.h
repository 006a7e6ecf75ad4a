// SPDX-License-Identifier: Apache-2.0
//
// The lock of fsync {lock: true}: while it is held, writes wait, without a thread.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/bell.h"
#include "base/mutex.h"
#include "quire/status.h"

namespace quire::command {

// Safe for concurrent use.
class WriteGate {
 public:
  // Locks once more; the number of locks held.
  int64_t Lock();
  // Gives one lock back; the number left. IllegalOperation when none is held.
  Result<int64_t> Unlock();
  bool locked() const { return count_.load(std::memory_order_acquire) > 0; }
  // Rings when the last lock is given back.
  Bell& opened() { return opened_; }

 private:
  std::atomic<int64_t> count_{0};
  Mutex mutex_;  // of who changes the count
  Bell opened_;
};

}  // namespace quire::command
