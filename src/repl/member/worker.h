// SPDX-License-Identifier: Apache-2.0
//
// A thread that does one thing after the other.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <thread>

#include "base/mutex.h"
#include "quire/status.h"

namespace quire::repl {

// Safe for concurrent use.
class Worker {
 public:
  Worker() = default;
  ~Worker() { Stop(); }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  Status Start();
  void Post(std::function<void()> job);
  // Returns when everything posted before has been done. Not on the worker's own thread.
  void Drain();
  // Does what was posted, and nothing that is posted later.
  void Stop();

 private:
  void Run();

  Mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable idle_;
  std::deque<std::function<void()>> jobs_ QUIRE_GUARDED_BY(mutex_);
  bool busy_ QUIRE_GUARDED_BY(mutex_) = false;
  bool stopping_ QUIRE_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace quire::repl
