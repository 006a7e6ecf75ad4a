// SPDX-License-Identifier: Apache-2.0
//
// The names and numbers of replication: members, epochs, places in the log.
#pragma once

#include <compare>
#include <cstdint>

namespace quire::repl {

using MemberId = int32_t;  // `_id` of a member in the set's configuration
inline constexpr MemberId kNoMember = -1;

using Epoch = uint64_t;    // number of a leadership (MongoDB's term); 0: before the first
using Time = uint64_t;     // cluster time: seconds and increment
using Millis = int64_t;    // a member's own monotonic clock
using Boot = uint64_t;     // one start of one process; never used twice
using DataId = uint64_t;   // one data folder; a wiped or newly copied folder has another
using Counter = uint64_t;  // raised by every write of the set's keys
using Ticket = uint64_t;   // one request to the coordination store
using WaiterId = uint64_t;
using CommandId = uint64_t;

// One slot of the log. Ordered as the logs of candidates are compared: epoch first.
struct Position {
  Epoch epoch = 0;
  Time time = 0;

  auto operator<=>(const Position&) const = default;
};

// A leadership: who, in which process, under which number.
struct Leadership {
  Epoch epoch = 0;
  MemberId member = kNoMember;
  Boot boot = 0;

  bool operator==(const Leadership&) const = default;
};

// One divergence handshake of a follower: a boot counts its handshakes.
struct Session {
  Boot boot = 0;
  uint64_t attempt = 0;

  bool operator==(const Session&) const = default;
};

}  // namespace quire::repl
