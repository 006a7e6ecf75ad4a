// SPDX-License-Identifier: Apache-2.0
//
// Threads for work that blocks: made when there is none free, at most so many. Work that waits for
// what may never come is left out of that number meanwhile.
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
  // Of work that is away (see below) at most `most_away` beside it.
  explicit Crew(size_t most, size_t most_away = 0) : most_(most), most_away_(most_away) {}
  // Waits for what is under way; what has not begun is not done.
  ~Crew() { Stop(); }
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  void Do(std::function<void()> work);
  void Stop();

  // While it lives, the work of the calling thread waits for long: its crew, if it has one, does
  // other work in its place. Without effect when too much is away already. Ends on its own thread.
  class Away {
   public:
    Away();
    ~Away();
    Away(const Away&) = delete;
    Away& operator=(const Away&) = delete;

   private:
    Crew* crew_;  // null: without effect
  };

 private:
  void Run();
  // One more thread, if there may be.
  void Grow() QUIRE_REQUIRES(mutex_);
  bool Leave();
  void Return();

  const size_t most_;
  const size_t most_away_;
  Mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> waiting_ QUIRE_GUARDED_BY(mutex_);
  size_t idle_ QUIRE_GUARDED_BY(mutex_) = 0;
  size_t busy_ QUIRE_GUARDED_BY(mutex_) = 0;  // those with work that is not away
  size_t away_ QUIRE_GUARDED_BY(mutex_) = 0;
  bool stopping_ QUIRE_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_ QUIRE_GUARDED_BY(mutex_);
};

}  // namespace quire::shard
