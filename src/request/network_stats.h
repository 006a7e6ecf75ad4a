// SPDX-License-Identifier: Apache-2.0
//
// What the doors of the process count, for serverStatus.
#pragma once

#include <atomic>
#include <cstdint>

namespace quire::request {

struct NetworkStats {
  std::atomic<int64_t> connections{0};          // open now
  std::atomic<int64_t> connections_limit{0};    // most that may be open
  std::atomic<int64_t> connections_created{0};  // ever accepted
  std::atomic<int64_t> connections_rejected{0};
  std::atomic<int64_t> connections_active{0};  // running a command now
  std::atomic<int64_t> threads{0};
  std::atomic<int64_t> bytes_in{0};
  std::atomic<int64_t> bytes_out{0};
  std::atomic<int64_t> requests{0};
  std::atomic<int64_t> compressed_in{0};   // messages
  std::atomic<int64_t> compressed_out{0};  // messages
};

// The process's counters.
inline NetworkStats& Network() {
  static NetworkStats stats;
  return stats;
}

}  // namespace quire::request
