// SPDX-License-Identifier: Apache-2.0
//
// Keeps the server alive when memory runs out: refuses work, and ends the operation that holds
// most, before the system ends the process.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <thread>

#include "base/machine_memory.h"
#include "base/mutex.h"
#include "command/command.h"

namespace quire::command {

class MemoryGuard {
 public:
  using Read = std::function<MachineMemory()>;

  // Looks ten times a second until it is destroyed. `commands` outlives it.
  static Result<std::unique_ptr<MemoryGuard>> Start(Commands* commands, Read read);
  ~MemoryGuard();

  // Sets what operations may hold, each and together, where no parameter says it: a quarter of the
  // memory, and half of it.
  static void SetLimits(const MachineMemory& memory);

  // One look. Used by the thread and by tests.
  void Look();

  MemoryGuard(Commands* commands, Read read) : commands_(*commands), read_(std::move(read)) {}

 private:
  void Watch();

  Commands& commands_;
  const Read read_;
  Mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ QUIRE_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace quire::command
