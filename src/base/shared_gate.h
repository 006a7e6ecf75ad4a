// SPDX-License-Identifier: Apache-2.0
//
// A shared/exclusive gate whose holders may move between threads (a transaction spans requests, a
// std::shared_mutex may not). Entering is one atomic add when nobody wants it exclusively.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>

#include "base/mutex.h"

namespace quire {

class SharedGate {
 public:
  // Waits while the gate is closed.
  void Enter() {
    while (true) {
      if (state_.fetch_add(1, std::memory_order_acquire) < kClosed) {
        return;
      }
      Leave();
      MutexLock lock(mutex_);
      changed_.wait(lock.native(),
                    [&] { return state_.load(std::memory_order_acquire) < kClosed; });
    }
  }

  // As Enter, giving up (false) when `stop()`, asked now and then, says so.
  template <typename Stop>
  bool EnterUnless(const Stop& stop) {
    if (state_.fetch_add(1, std::memory_order_acquire) < kClosed) {
      return true;
    }
    Leave();
    while (!TryEnter(kSlice)) {
      if (stop()) {
        return false;
      }
    }
    return true;
  }

  // As Enter, giving up (false) after `timeout`.
  bool TryEnter(std::chrono::milliseconds timeout) {
    auto deadline = std::chrono::steady_clock::now() + timeout;
    while (true) {
      if (state_.fetch_add(1, std::memory_order_acquire) < kClosed) {
        return true;
      }
      Leave();
      MutexLock lock(mutex_);
      if (!changed_.wait_until(lock.native(), deadline,
                               [&] { return state_.load(std::memory_order_acquire) < kClosed; })) {
        return false;
      }
    }
  }

  void Leave() {
    if (state_.fetch_sub(1, std::memory_order_release) > kClosed) {
      MutexLock lock(mutex_);
      changed_.notify_all();
    }
  }

  // Keeps new holders out and waits until the present ones have left. One closer at a time.
  void Close() {
    MutexLock lock(mutex_);
    changed_.wait(lock.native(), [&]() QUIRE_REQUIRES(mutex_) { return !closing_; });
    closing_ = true;
    state_.fetch_add(kClosed, std::memory_order_acquire);
    changed_.wait(lock.native(), [&] { return state_.load(std::memory_order_acquire) == kClosed; });
  }

  // As Close, giving up (false) when `stop()`, asked now and then, says so.
  template <typename Stop>
  bool CloseUnless(const Stop& stop) {
    MutexLock lock(mutex_);
    while (!changed_.wait_for(lock.native(), kSlice,
                              [&]() QUIRE_REQUIRES(mutex_) { return !closing_; })) {
      if (stop()) {
        return false;
      }
    }
    closing_ = true;
    state_.fetch_add(kClosed, std::memory_order_acquire);
    auto left = [&] { return state_.load(std::memory_order_acquire) == kClosed; };
    while (!changed_.wait_for(lock.native(), kSlice, left)) {
      if (stop()) {
        lock.unlock();
        Open();
        return false;
      }
    }
    return true;
  }

  void Open() {
    MutexLock lock(mutex_);
    state_.fetch_sub(kClosed, std::memory_order_release);
    closing_ = false;
    changed_.notify_all();
  }

 private:
  static constexpr auto kSlice = std::chrono::milliseconds(50);
  static constexpr int64_t kClosed = int64_t{1} << 32;
  std::atomic<int64_t> state_{0};  // holders, plus kClosed while closed
  Mutex mutex_;
  std::condition_variable changed_;
  bool closing_ QUIRE_GUARDED_BY(mutex_) = false;
};

}  // namespace quire
