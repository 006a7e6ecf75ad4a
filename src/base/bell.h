// SPDX-License-Identifier: Apache-2.0
//
// Lets many wait for one event without a thread each.
//
// To miss nothing: listen first, then look whether the event has happened already. Whoever makes it
// happen does so first and rings then.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <unordered_map>
#include <utility>

#include "base/mutex.h"

namespace quire {

// Safe for concurrent use.
class Bell {
  struct State {
    std::atomic<size_t> count{0};
    Mutex mutex;
    std::unordered_map<const void*, std::function<void()>> calls
        QUIRE_GUARDED_BY(mutex);  // by listener
  };

 public:
  // May outlive its bell.
  class Listener {
   public:
    explicit Listener(std::shared_ptr<State> state) : state_(std::move(state)) {}
    // After it the listener's call neither runs nor will.
    ~Listener() {
      MutexLock lock(state_->mutex);
      if (state_->calls.erase(this) > 0) {
        state_->count.fetch_sub(1);
      }
    }
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;

   private:
    std::shared_ptr<State> state_;
  };

  // Calls `rung` when the bell rings next, once, on the thread that rings it and with the bell
  // locked: it is short and destroys no listener.
  [[nodiscard]] std::unique_ptr<Listener> Listen(std::function<void()> rung) {
    auto listener = std::make_unique<Listener>(state_);
    MutexLock lock(state_->mutex);
    state_->calls.emplace(listener.get(), std::move(rung));
    state_->count.fetch_add(1);
    return listener;
  }

  // One atomic operation when nobody listens.
  void Ring() {
    if (state_->count.fetch_add(0) == 0) {  // a write: ordered with that of Listen
      return;
    }
    MutexLock lock(state_->mutex);
    for (const auto& [listener, call] : state_->calls) {
      call();
    }
    state_->calls.clear();
    state_->count = 0;
  }

 private:
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace quire
