// SPDX-License-Identifier: Apache-2.0
#include "repl/member/worker.h"

#include <utility>

#include "base/thread.h"
#include "base/try.h"

namespace quire::repl {

Status Worker::Start() {
  ASSIGN_OR_RETURN(thread_, StartThread([this] { Run(); }));
  return Status::Ok();
}

void Worker::Post(std::function<void()> job) {
  MutexLock lock(mutex_);
  if (!stopping_) {
    jobs_.push_back(std::move(job));
    wake_.notify_one();
  }
}

void Worker::Drain() {
  MutexLock lock(mutex_);
  while (busy_ || !jobs_.empty()) {
    idle_.wait(lock.native());
  }
}

void Worker::Stop() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) {
    thread_.join();
  }
}

void Worker::Run() {
  MutexLock lock(mutex_);
  while (true) {
    if (jobs_.empty()) {
      busy_ = false;
      idle_.notify_all();
      if (stopping_) {
        return;
      }
      wake_.wait(lock.native());
      continue;
    }
    busy_ = true;
    std::function<void()> job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    job();
    job = nullptr;  // what it holds goes before others think it is done
    lock.lock();
  }
}

}  // namespace quire::repl
