// SPDX-License-Identifier: Apache-2.0
//
// What one client may take of the doors, as server parameters set it.
//
// A stranger is a client that has not logged in where clients have to. It gets little memory and
// little time; drivers' monitors stay strangers for ever, so being idle is not held against one.
#pragma once

#include <atomic>
#include <cstdint>

namespace quire::request {

// Safe for concurrent use. Times are in milliseconds; 0 means no limit.
struct NetworkLimits {
  std::atomic<bool> logins{false};  // clients have to log in: without a login they are strangers
  // The longest message of a stranger, also when decompressed.
  std::atomic<int64_t> stranger_message_bytes{16 << 10};
  // In which a stranger sends its first message, completes any other one, takes a reply, and ends a
  // login that it has begun.
  std::atomic<int64_t> stranger_millis{30'000};
  // After which a stranger that does nothing is gone.
  std::atomic<int64_t> stranger_idle_millis{600'000};
  // Without progress of a message that has begun to arrive.
  std::atomic<int64_t> message_stall_millis{60'000};
  // Without progress of a reply that is too large to be sent at once.
  std::atomic<int64_t> reply_stall_millis{120'000};
  // Most connections from one address; 0: four fifths of all.
  std::atomic<int64_t> connections_per_address{0};
};

// The process's limits.
inline NetworkLimits& Limits() {
  static NetworkLimits limits;
  return limits;
}

// `limit`, or four fifths of `all` when it is 0: one client leaves room for others.
inline int64_t ShareOf(int64_t all, int64_t limit) { return limit > 0 ? limit : all - all / 5; }

}  // namespace quire::request
