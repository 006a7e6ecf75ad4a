// SPDX-License-Identifier: Apache-2.0
//
// Changes that this shard is prepared for and whose coordinating shard has had no primary for long:
// another shard's primary goes on with them, so that what they block here is not blocked until
// somebody has brought that shard back.
#pragma once

#include <chrono>
#include <map>
#include <set>
#include <string>

#include "shard/change/context.h"
#include "shard/core/ledger.h"

namespace quire::shard {

// Used by one thread.
class TakeOver {
 public:
  using Clock = std::chrono::steady_clock;

  // Looks at the changes that are open here; called every few seconds on a primary. Gives the first
  // name of each one that is to be resumed: nobody has looked after it for `timeout`.
  std::set<std::string> Look(Context& context, Clock::time_point now,
                             std::chrono::milliseconds timeout);

 private:
  struct Open {
    Stamp stamp;
    Clock::time_point heard;  // of its coordinator, or of the change itself
  };
  // Whether the coordinator of the change is there. Error: nobody knows.
  Result<bool> IsLookedAfter(Context& context, const std::string& id, const Stamp& stamp,
                             std::string* first);

  std::map<std::string, Open> open_;  // by id
};

}  // namespace quire::shard
