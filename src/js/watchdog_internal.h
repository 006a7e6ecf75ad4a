// SPDX-License-Identifier: Apache-2.0
//
// Asks the engines whose scripts run to check their limits, many times a second. Private to js.
#pragma once

#include <atomic>
#include <condition_variable>
#include <vector>

#include "base/mutex.h"
#include "quire/status.h"

namespace quire::js {

class Runtime;

// One thread for the process, started with the first script; it sleeps while none runs.
class Watchdog {
 public:
  static Watchdog& Get();

  // InternalError without a thread to watch with: an endless script would never end.
  Status Add(Runtime* runtime);
  void Remove(Runtime* runtime);
  // To be called once a runtime is running.
  void Notice() {
    if (asleep_.load()) {
      Wake();
    }
  }

 private:
  void Run();
  void Wake();
  bool AnyRunning() QUIRE_REQUIRES(mutex_);

  Mutex mutex_;
  std::condition_variable wake_;
  bool started_ QUIRE_GUARDED_BY(mutex_) = false;
  std::vector<Runtime*> runtimes_ QUIRE_GUARDED_BY(mutex_);
  std::atomic<bool> asleep_{false};
};

}  // namespace quire::js
