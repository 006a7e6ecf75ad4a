// SPDX-License-Identifier: Apache-2.0
//
// What the doors of the process count, for serverStatus.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

namespace quire::request {

// As serverStatus names them.
inline constexpr std::array<std::string_view, 5> kTlsVersions = {"1.0", "1.1", "1.2", "1.3",
                                                                 "unknown"};

struct NetworkStats {
  std::atomic<int64_t> connections{0};          // open now
  std::atomic<int64_t> connections_limit{0};    // most that may be open
  std::atomic<int64_t> connections_created{0};  // ever accepted
  std::atomic<int64_t> connections_rejected{0};
  std::atomic<int64_t> connections_active{0};  // running a command now
  std::atomic<int64_t> threads{0};
  std::atomic<int64_t> threads_idle{0};  // of them, those that wait for anybody's request
  std::atomic<int64_t> bytes_in{0};
  std::atomic<int64_t> bytes_out{0};
  std::atomic<int64_t> requests{0};
  std::atomic<int64_t> compressed_in{0};      // messages
  std::atomic<int64_t> compressed_out{0};     // messages
  std::array<std::atomic<int64_t>, 5> tls{};  // connections ever, by kTlsVersions
};

// The process's counters.
inline NetworkStats& Network() {
  static NetworkStats stats;
  return stats;
}

// Counts a connection with "TLSv1.3" or whatever it came to; "TLSv1" is 1.0.
inline void CountTls(std::string_view version) {
  version.remove_prefix(std::min(version.size(), std::string_view("TLSv").size()));
  const auto* found =
      std::find(kTlsVersions.begin(), kTlsVersions.end() - 1, version == "1" ? "1.0" : version);
  Network().tls[static_cast<size_t>(found - kTlsVersions.begin())].fetch_add(
      1, std::memory_order_relaxed);
}

}  // namespace quire::request
