// SPDX-License-Identifier: Apache-2.0
#include "shard/crew.h"

#include <utility>

#include "base/log.h"
#include "base/thread.h"

namespace quire::shard {

void Crew::Do(std::function<void()> work) {
  MutexLock lock(mutex_);
  if (stopping_) {
    return;
  }
  waiting_.push_back(std::move(work));
  if (idle_ < waiting_.size() && threads_.size() < most_) {
    auto thread = StartThread([this] { Run(); });
    if (thread.ok()) {
      threads_.push_back(*std::move(thread));
    } else {
      log::Warning("SHARDING", "No further thread", {{"error", thread.status().message()}});
    }
  }
  wake_.notify_one();
}

void Crew::Run() {
  MutexLock lock(mutex_);
  while (true) {
    ++idle_;
    wake_.wait(lock.native(),
               [&]() QUIRE_REQUIRES(mutex_) { return stopping_ || !waiting_.empty(); });
    --idle_;
    if (stopping_) {
      return;
    }
    auto work = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    work();
    work = nullptr;
    lock.lock();
  }
}

void Crew::Stop() {
  std::vector<std::thread> threads;
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    waiting_.clear();
    threads.swap(threads_);
    wake_.notify_all();
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

}  // namespace quire::shard
