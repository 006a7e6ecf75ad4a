// SPDX-License-Identifier: Apache-2.0
//
// Replies that are complete but have to wait for something before they are sent: a write whose
// concern does not hold yet. The command is never run again.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>

#include "base/bell.h"
#include "quire/bson.h"
#include "quire/status.h"
#include "request/call.h"

namespace quire::run {

// What a finished reply waits for.
class Condition {
 public:
  virtual ~Condition() = default;
  // Calls `changed` once when the answer of Held may be another one.
  virtual std::unique_ptr<Bell::Listener> Listen(std::function<void()> changed) = 0;
  // Nothing while it is open; Ok, or why it will never hold.
  virtual std::optional<Status> Held() = 0;
};

// Lets the reply of the call wait for `condition`, until `until` or the end of the operation. What
// goes wrong is the reply's writeConcernError: the time is over (WriteConcernFailed with errInfo
// {wtimeout: true}), the operation was interrupted, or what Held says.
void AwaitCondition(std::unique_ptr<Condition> condition,
                    std::chrono::steady_clock::time_point until, request::Call& call);

}  // namespace quire::run
