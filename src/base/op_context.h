// SPDX-License-Identifier: Apache-2.0
//
// What one running operation carries with it: its deadline, the switch that kills it, and its
// memory budget. Passed explicitly down every call that can take long.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

#include "quire/status.h"

namespace quire {

class OpContext {
 public:
  using Clock = std::chrono::steady_clock;

  OpContext() = default;
  OpContext(const OpContext&) = delete;
  OpContext& operator=(const OpContext&) = delete;

  // The operation fails with MaxTimeMSExpired once `deadline` is past.
  void SetDeadline(Clock::time_point deadline) { deadline_ = deadline; }
  bool has_deadline() const { return deadline_ != Clock::time_point::max(); }
  Clock::time_point deadline() const { return deadline_; }

  // Asks the operation to stop with error `code` (Interrupted by default); safe from any thread,
  // the first code given wins.
  void Kill(int code = 11601);
  bool killed() const { return kill_code_.load(std::memory_order_relaxed) != 0; }

  // Ok, or the reason to stop. Cheap enough for every row: the clock is read on every fourth call,
  // as what lies between two may be the work on a large document.
  Status CheckInterrupt() {
    if (killed() || (has_deadline() && (++checks_ & 3) == 0)) [[unlikely]] {
      return CheckInterruptNow();
    }
    return Status::Ok();
  }
  // The same, reading the clock.
  Status CheckInterruptNow() const;

  // Bytes a blocking operator (sort, group) may hold before it must spill or fail.
  size_t memory_limit = size_t{100} << 20;
  // Bytes it holds as far as they are counted (memory_charge.h).
  std::atomic<int64_t> held{0};
  // What its scripts have printed. Of the thread that runs it.
  uint32_t printed_lines = 0;
  size_t printed_bytes = 0;
  // Whether it may have written: set before each commit of a change. Of the thread that runs it.
  bool may_have_written = false;

 private:
  Clock::time_point deadline_ = Clock::time_point::max();
  std::atomic<int> kill_code_{0};
  uint32_t checks_ = 0;
};

}  // namespace quire
