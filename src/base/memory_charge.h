// SPDX-License-Identifier: Apache-2.0
//
// Counts the memory that operations hold: of each, and of all together. Whoever holds much has a
// MemoryCharge and tells it how much. An operation that goes beyond a limit is killed with
// ExceededMemoryLimit, which it meets at its next CheckInterrupt.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace quire {

// Of the process. Limits of 0: none.
struct MemoryLimits {
  std::atomic<int64_t> of_one{0};   // operation
  std::atomic<int64_t> of_all{0};   // operations together
  std::atomic<int64_t> held{0};     // by all now
  std::atomic<int64_t> refused{0};  // operations killed so
};
MemoryLimits& OperationMemory();

// What one holder has. Held by the operation of the thread that calls; what is still held when that
// ends (by an open cursor) counts for all together.
class MemoryCharge {
 public:
  MemoryCharge() = default;
  ~MemoryCharge() { Set(0); }
  MemoryCharge(const MemoryCharge&) = delete;
  MemoryCharge& operator=(const MemoryCharge&) = delete;

  // Holds so many bytes from now on. Small changes are not worth counting.
  void Set(size_t bytes) {
    auto change = static_cast<int64_t>(bytes) - counted_;
    if (change >= kStep || change <= -kStep || (bytes == 0 && counted_ != 0)) [[unlikely]] {
      Count(change);
    }
  }

 private:
  static constexpr int64_t kStep = 64 << 10;
  void Count(int64_t change);
  int64_t counted_ = 0;
};

}  // namespace quire
