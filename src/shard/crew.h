// SPDX-License-Identifier: Apache-2.0
//
// Threads for work that blocks: made when there is none free, at most so many.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "base/mutex.h"

namespace quire::shard {

// Safe for concurrent use.
class Crew {
 public:
  explicit Crew(size_t most) : most_(most) {}
  // Waits for what is under way; what has not begun is not done.
  ~Crew() { Stop(); }
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  void Do(std::function<void()> work);
  void Stop();

 private:
  void Run();

  const size_t most_;
  Mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> waiting_ QUIRE_GUARDED_BY(mutex_);
  size_t idle_ QUIRE_GUARDED_BY(mutex_) = 0;
  bool stopping_ QUIRE_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_ QUIRE_GUARDED_BY(mutex_);
};

}  // namespace quire::shard
