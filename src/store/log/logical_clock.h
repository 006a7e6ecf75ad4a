// SPDX-License-Identifier: Apache-2.0
//
// The node's logical time: what operationTime and $clusterTime carry and the change log is ordered
// by. Never goes back, also when the wall clock does.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "quire/bson.h"

namespace quire::store {

inline uint64_t PackTime(bson::Timestamp time) {
  return (static_cast<uint64_t>(time.seconds) << 32) | time.increment;
}
inline bson::Timestamp UnpackTime(uint64_t bits) {
  return {static_cast<uint32_t>(bits >> 32), static_cast<uint32_t>(bits)};
}

// Safe for concurrent use.
class LogicalClock {
 public:
  // A time later than every one handed out before. With `count`, the first of that many.
  bson::Timestamp Tick(uint64_t count = 1) {
    uint64_t wall = WallSeconds() << 32 | 1;
    uint64_t now = time_.load(std::memory_order_relaxed);
    uint64_t first;
    do {
      first = now + 1 > wall ? now + 1 : wall;
    } while (!time_.compare_exchange_weak(now, first + count - 1, std::memory_order_acq_rel));
    return UnpackTime(first);
  }

  // The latest time handed out.
  bson::Timestamp Now() const { return UnpackTime(time_.load(std::memory_order_acquire)); }

  // Makes later times later than `seen` (read back from the store, or sent by a client).
  void Advance(bson::Timestamp seen) {
    uint64_t at_least = PackTime(seen);
    uint64_t now = time_.load(std::memory_order_relaxed);
    while (now < at_least && !time_.compare_exchange_weak(now, at_least)) {
    }
  }

 private:
  static uint64_t WallSeconds() {
    return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(
                                     std::chrono::system_clock::now().time_since_epoch())
                                     .count());
  }

  std::atomic<uint64_t> time_{WallSeconds() << 32 | 1};
};

}  // namespace quire::store
