// SPDX-License-Identifier: Apache-2.0
#include "shard/crew.h"

#include <utility>

#include "base/log.h"
#include "base/thread.h"

namespace quire::shard {

namespace {
thread_local Crew* own_crew = nullptr;  // of a thread that works, and is not away
}  // namespace

void Crew::Do(std::function<void()> work) {
  MutexLock lock(mutex_);
  if (stopping_) {
    return;
  }
  waiting_.push_back(std::move(work));
  Grow();
  wake_.notify_one();
}

void Crew::Grow() {
  if (idle_ >= waiting_.size() || threads_.size() >= most_ + away_) {
    return;
  }
  auto thread = StartThread([this] { Run(); });
  if (thread.ok()) {
    threads_.push_back(*std::move(thread));
  } else {
    log::Warning("SHARDING", "No further thread", {{"error", thread.status().message()}});
  }
}

bool Crew::Leave() {
  MutexLock lock(mutex_);
  if (stopping_ || away_ >= most_away_) {
    return false;
  }
  ++away_;
  --busy_;
  Grow();
  wake_.notify_one();
  return true;
}

// There may be more busy threads than most_ then, until one of them has done its work.
void Crew::Return() {
  MutexLock lock(mutex_);
  --away_;
  ++busy_;
}

Crew::Away::Away() : crew_(own_crew != nullptr && own_crew->Leave() ? own_crew : nullptr) {
  if (crew_ != nullptr) {
    own_crew = nullptr;
  }
}

Crew::Away::~Away() {
  if (crew_ != nullptr) {
    crew_->Return();
    own_crew = crew_;
  }
}

void Crew::Run() {
  MutexLock lock(mutex_);
  while (true) {
    ++idle_;
    wake_.wait(lock.native(), [&]() QUIRE_REQUIRES(mutex_) {
      return stopping_ || (!waiting_.empty() && busy_ < most_);
    });
    --idle_;
    if (stopping_) {
      return;
    }
    auto work = std::move(waiting_.front());
    waiting_.pop_front();
    ++busy_;
    lock.unlock();
    own_crew = this;
    work();
    work = nullptr;
    lock.lock();
    --busy_;
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
