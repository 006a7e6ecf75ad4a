// SPDX-License-Identifier: Apache-2.0
//
// A bounded number of threads for work that waits where it stands: merging parts of pipelines,
// which read other collections while they run.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "quire/status.h"

namespace quire::router {

// Safe for concurrent use.
class Workers {
 public:
  static Result<std::unique_ptr<Workers>> Start(size_t threads);
  // Ends when all work given has been done.
  ~Workers();
  void Post(std::function<void()> work);
  // Whether the caller is such a thread: it may wait, and must not wait for another of them.
  static bool IsOne();

 private:
  Workers() = default;
  void Run();

  Mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ QUIRE_GUARDED_BY(mutex_) = false;
  std::deque<std::function<void()>> work_ QUIRE_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_;
};

}  // namespace quire::router
