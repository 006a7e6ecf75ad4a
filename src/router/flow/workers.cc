// SPDX-License-Identifier: Apache-2.0
#include "router/flow/workers.h"

#include "base/thread.h"
#include "base/try.h"

namespace quire::router {

namespace {
thread_local bool is_worker = false;
}  // namespace

Result<std::unique_ptr<Workers>> Workers::Start(size_t threads) {
  std::unique_ptr<Workers> workers(new Workers);
  for (size_t i = 0; i < threads; ++i) {
    ASSIGN_OR_RETURN(std::thread thread, StartThread([own = workers.get()] { own->Run(); }));
    workers->threads_.push_back(std::move(thread));
  }
  return workers;
}

Workers::~Workers() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) {
    thread.join();
  }
}

void Workers::Post(std::function<void()> work) {
  {
    MutexLock lock(mutex_);
    work_.push_back(std::move(work));
  }
  wake_.notify_one();
}

bool Workers::IsOne() { return is_worker; }

void Workers::Run() {
  is_worker = true;
  while (true) {
    std::function<void()> work;
    {
      MutexLock lock(mutex_);
      wake_.wait(lock.native(),
                 [this]() QUIRE_REQUIRES(mutex_) { return stopping_ || !work_.empty(); });
      if (work_.empty()) {
        return;
      }
      work = std::move(work_.front());
      work_.pop_front();
    }
    work();
  }
}

}  // namespace quire::router
