// SPDX-License-Identifier: Apache-2.0
//
// The temporary collections of $out (engine/write/out_collection.h) whose router has ended.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "shard/change/context.h"

namespace quire::shard {

// Which routers are gone, by what they write to the coordination store every 30 seconds.
class RoutersSeen {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kAbsent{10};
  static constexpr std::chrono::minutes kSilent{15};

  // The routers there are, by their process, with the revision of what they wrote last.
  void Look(const std::map<std::string, int64_t>& routers, Clock::time_point now);
  // Whether a process has ended: another has taken its place, or it has been silent for long. One
  // that nobody has asked about before has not.
  bool IsGone(const std::string& boot, Clock::time_point now);

 private:
  struct Seen {
    int64_t revision = 0;
    Clock::time_point since;  // of that revision
  };
  std::map<std::string, Seen> there_;
  std::map<std::string, Clock::time_point> absent_;  // asked about since then
};

// Drops what they have left in the databases of this shard.
void DropLeftOuts(Context& context, RoutersSeen* routers);

}  // namespace quire::shard
