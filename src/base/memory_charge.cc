// SPDX-License-Identifier: Apache-2.0
#include "base/memory_charge.h"

#include "base/current_op.h"
#include "base/error_codes.h"

namespace quire {

namespace {

// When all together hold too much, those that hold less than this are not the cause.
constexpr int64_t kInnocent = 16 << 20;

bool Exceeds(int64_t held, int64_t limit) { return limit > 0 && held > limit; }

}  // namespace

MemoryLimits& OperationMemory() {
  static MemoryLimits limits;
  return limits;
}

void MemoryCharge::Count(int64_t change) {
  MemoryLimits& limits = OperationMemory();
  counted_ += change;
  const int64_t all = limits.held.fetch_add(change, std::memory_order_relaxed) + change;
  OpContext* op = CurrentOp();
  if (op == nullptr) {
    return;
  }
  const int64_t own = op->held.fetch_add(change, std::memory_order_relaxed) + change;
  if (change > 0 && !op->killed() &&
      (Exceeds(own, limits.of_one.load(std::memory_order_relaxed)) ||
       (own > kInnocent && Exceeds(all, limits.of_all.load(std::memory_order_relaxed))))) {
    op->Kill(kExceededMemoryLimit);
    limits.refused.fetch_add(1, std::memory_order_relaxed);
  }
}

}  // namespace quire
