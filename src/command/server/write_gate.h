// SPDX-License-Identifier: Apache-2.0
//
// The lock of fsync {lock: true}: while it is held, writes wait.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>

#include "base/mutex.h"
#include "base/op_context.h"
#include "quire/status.h"

namespace quire::command {

// Safe for concurrent use.
class WriteGate {
 public:
  // Locks once more; the number of locks held.
  int64_t Lock();
  // Gives one lock back; the number left. IllegalOperation when none is held.
  Result<int64_t> Unlock();
  // Returns once the gate is open, or why the operation must stop.
  Status Pass(OpContext& op) {
    return count_.load(std::memory_order_acquire) == 0 ? Status::Ok() : Wait(op);
  }

 private:
  Status Wait(OpContext& op);

  std::atomic<int64_t> count_{0};
  Mutex mutex_;
  std::condition_variable opened_;
};

}  // namespace quire::command
