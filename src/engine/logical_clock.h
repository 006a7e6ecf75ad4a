// SPDX-License-Identifier: Apache-2.0
//
// The node's logical time: what operationTime and $clusterTime carry and change events are
// ordered by. Never goes back, also when the wall clock does.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "quire/bson.h"

namespace quire::engine {

// Safe for concurrent use.
class LogicalClock {
 public:
  // A time later than every one handed out before.
  bson::Timestamp Tick() {
    uint64_t wall = WallSeconds() << 32 | 1;
    uint64_t now = time_.load(std::memory_order_relaxed);
    uint64_t next;
    do {
      next = now + 1 > wall ? now + 1 : wall;
    } while (!time_.compare_exchange_weak(now, next, std::memory_order_acq_rel));
    return Unpack(next);
  }

  // The latest time handed out.
  bson::Timestamp Now() const { return Unpack(time_.load(std::memory_order_acquire)); }

  // Makes later times later than `seen` (read back from the store, or sent by a client).
  void Advance(bson::Timestamp seen) {
    uint64_t at_least = (static_cast<uint64_t>(seen.seconds) << 32) | seen.increment;
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
  static bson::Timestamp Unpack(uint64_t bits) {
    return {static_cast<uint32_t>(bits >> 32), static_cast<uint32_t>(bits)};
  }

  std::atomic<uint64_t> time_{WallSeconds() << 32 | 1};
};

}  // namespace quire::engine
