// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <thread>

#include "base/machine_memory.h"
#include "base/mutex.h"
#include "base/thread.h"
#include "base/try.h"
#include "js/runtime_internal.h"
#include "js/watchdog_internal.h"

namespace quire::js {

namespace {
constexpr std::chrono::milliseconds kPeriod{10};
// Periods without a script before it sleeps.
constexpr int kIdleRounds = 100;
// Scripts are asked how much memory they hold whenever the process has grown by so much.
constexpr int64_t kGrowth = int64_t{16} << 20;
}  // namespace

// Never destroyed: threads may still run scripts while the process ends.
Watchdog& Watchdog::Get() {
  static auto* const watchdog = new Watchdog();
  return *watchdog;
}

Status Watchdog::Add(Runtime* runtime) {
  MutexLock lock(mutex_);
  if (!started_) {
    ASSIGN_OR_RETURN(std::thread thread, StartThread([this] { Run(); }));
    thread.detach();
    started_ = true;
  }
  runtimes_.push_back(runtime);
  return Status::Ok();
}

void Watchdog::Remove(Runtime* runtime) {
  MutexLock lock(mutex_);
  std::erase(runtimes_, runtime);
}

void Watchdog::Wake() {
  MutexLock lock(mutex_);
  asleep_ = false;
  wake_.notify_one();
}

bool Watchdog::AnyRunning() {
  for (Runtime* runtime : runtimes_) {
    if (runtime->running()) {
      return true;
    }
  }
  return false;
}

void Watchdog::Run() {
  MutexLock lock(mutex_);
  int idle = 0;
  int64_t asked_at = 0;  // what the process held when they were asked
  while (true) {
    wake_.wait_for(lock.native(), kPeriod);
    if (AnyRunning()) {
      idle = 0;
      const int64_t held = ReadResidentMemory();
      const bool grown = held == 0 || held > asked_at + kGrowth;
      asked_at = grown ? held : std::min(asked_at, held);
      for (Runtime* runtime : runtimes_) {
        runtime->RequestCheck(grown);
      }
    }
    if (++idle < kIdleRounds) {
      continue;
    }
    // A script that starts from here on sees asleep_; one that started before is seen here.
    asleep_ = true;
    if (AnyRunning()) {
      asleep_ = false;
    }
    wake_.wait(lock.native(), [this] { return !asleep_.load(); });
    idle = 0;
  }
}

}  // namespace quire::js
