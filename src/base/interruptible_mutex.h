// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "base/current_op.h"
#include "base/try.h"

namespace quire {

// A mutex for what may be held long: waiting for it ends when the thread's operation is to end.
class InterruptibleMutex {
 public:
  // The lock, or why the operation must stop.
  Result<std::unique_lock<InterruptibleMutex>> Acquire() {
    std::unique_lock guard(mutex_);
    while (!freed_.wait_for(guard, kSlice, [this] { return !held_; })) {
      RETURN_IF_ERROR(CheckCurrentOpNow());
    }
    held_ = true;
    return std::unique_lock<InterruptibleMutex>(*this, std::adopt_lock);
  }

  // The same without an end.
  void lock() {  // NOLINT(readability-identifier-naming): the standard's names
    std::unique_lock guard(mutex_);
    freed_.wait(guard, [this] { return !held_; });
    held_ = true;
  }
  void unlock() {  // NOLINT(readability-identifier-naming)
    {
      std::lock_guard guard(mutex_);
      held_ = false;
    }
    freed_.notify_one();
  }

 private:
  static constexpr auto kSlice = std::chrono::milliseconds(50);
  std::mutex mutex_;
  std::condition_variable freed_;
  bool held_ = false;  // protected by mutex_
};

}  // namespace quire
