// SPDX-License-Identifier: Apache-2.0
#include "command/server/memory_guard.h"

#include <algorithm>
#include <chrono>

#include "base/error_codes.h"
#include "base/log.h"
#include "base/memory_charge.h"
#include "base/thread.h"
#include "base/try.h"

namespace quire::command {

namespace {

constexpr int64_t kMiB = int64_t{1} << 20;
// Operations that hold less than this are left alone: ending them would not help.
constexpr int64_t kWorthEnding = 32 * kMiB;

// What has to be left.
int64_t Reserve(int64_t limit) { return std::clamp(limit / 32, 32 * kMiB, 1024 * kMiB); }

}  // namespace

Result<std::unique_ptr<MemoryGuard>> MemoryGuard::Start(Commands* commands, Read read) {
  auto guard = std::make_unique<MemoryGuard>(commands, std::move(read));
  ASSIGN_OR_RETURN(guard->thread_, StartThread([guard = guard.get()] { guard->Watch(); }));
  return guard;
}

MemoryGuard::~MemoryGuard() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) {
    thread_.join();
  }
}

void MemoryGuard::SetLimits(const MachineMemory& memory) {
  MemoryLimits& limits = OperationMemory();
  int64_t unset = 0;
  limits.of_one.compare_exchange_strong(unset, memory.limit / 4);
  unset = 0;
  limits.of_all.compare_exchange_strong(unset, memory.limit / 2);
}

void MemoryGuard::Watch() {
  MutexLock lock(mutex_);
  while (!wake_.wait_for(lock.native(), std::chrono::milliseconds(100),
                         [this]() QUIRE_REQUIRES(mutex_) { return stopping_; })) {
    lock.unlock();
    Look();
    lock.lock();
  }
}

void MemoryGuard::Look() {
  const MachineMemory memory = read_();
  if (memory.limit == 0) {
    return;
  }
  const bool is_short = memory.available < Reserve(memory.limit);
  if (is_short != commands_.short_of_memory.exchange(is_short)) {
    log::Warning("CONTROL", is_short ? "Short of memory, refusing work" : "Memory is there again",
                 {{"availableBytes", memory.available}, {"limitBytes", memory.limit}});
  }
  if (!is_short) {
    return;
  }
  int64_t id = 0;
  int64_t most = kWorthEnding;
  commands_.operations().ForEach([&](const run::RunningOp& running) {
    const int64_t held = running.op->held.load(std::memory_order_relaxed);
    if (held > most && !running.op->killed()) {
      most = held;
      id = running.id;
    }
  });
  if (id != 0 && commands_.operations().Kill(id, kExceededMemoryLimit)) {
    OperationMemory().refused.fetch_add(1, std::memory_order_relaxed);
    log::Warning("CONTROL", "Ended an operation for its memory",
                 {{"opid", id}, {"heldBytes", most}});
  }
}

}  // namespace quire::command
