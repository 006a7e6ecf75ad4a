// SPDX-License-Identifier: Apache-2.0
//
// What the member's own thread has to do next, in the order it was asked for.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <utility>
#include <vector>

#include "base/mutex.h"

namespace quire::repl {

// Safe for concurrent use.
class Inbox {
 public:
  using Task = std::function<void()>;

  void Post(Task task) {
    MutexLock lock(mutex_);
    if (!closed_) {
      tasks_.push_back(std::move(task));
      wake_.notify_one();
    }
  }

  // Everything there is; waits until there is something, or for that time. `tasks` is empty before.
  void Take(std::chrono::steady_clock::time_point until, std::vector<Task>* tasks) {
    MutexLock lock(mutex_);
    while (tasks_.empty() && !closed_ &&
           wake_.wait_until(lock.native(), until) == std::cv_status::no_timeout) {
    }
    std::swap(*tasks, tasks_);
  }

  // Nothing more is taken; Take waits no longer.
  void Close() {
    MutexLock lock(mutex_);
    closed_ = true;
    wake_.notify_all();
  }
  bool closed() {
    MutexLock lock(mutex_);
    return closed_;
  }

 private:
  Mutex mutex_;
  std::condition_variable wake_;
  std::vector<Task> tasks_ QUIRE_GUARDED_BY(mutex_);
  bool closed_ QUIRE_GUARDED_BY(mutex_) = false;
};

}  // namespace quire::repl
