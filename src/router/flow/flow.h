// SPDX-License-Identifier: Apache-2.0
//
// One request of a router: a coroutine that is parked while it waits.
#pragma once

#include <chrono>
#include <coroutine>
#include <memory>
#include <optional>

#include "base/bell.h"
#include "quire/status.h"
#include "request/call.h"
#include "router/flow/task.h"

namespace quire::router {

// What a flow waits for. Whoever makes it ready does so first and rings then.
class Wait {
 public:
  using Clock = std::chrono::steady_clock;

  virtual ~Wait() = default;
  virtual bool ready() = 0;
  // Ready at that time, whatever else happens.
  virtual Clock::time_point until() const { return Clock::time_point::max(); }
  // Nobody waits for it any more.
  virtual void Abandon() {}

  Bell rung;
};

class Flow : public std::enable_shared_from_this<Flow> {
 public:
  // The call has an address for the life of its request.
  explicit Flow(request::Call* call) : call_(*call) {}
  virtual ~Flow() = default;
  Flow(const Flow&) = delete;
  Flow& operator=(const Flow&) = delete;

  request::Call& call() { return call_; }
  OpContext& op() { return call_.op; }

  // Runs `task` as the rest of the call's command: to its end, or the call is left with a
  // suspension. REQUIRES: owned by a shared_ptr.
  Status Start(Task<Status> task);

  // co_await gives Ok when `wait` is ready, or why the operation has to end: from then on nothing
  // is waited for any more.
  class Awaiter {
   public:
    Awaiter(Flow* flow, std::shared_ptr<Wait> wait) : flow_(*flow), wait_(std::move(wait)) {}
    bool await_ready() { return !flow_.ended_.ok() || wait_->ready(); }
    void await_suspend(std::coroutine_handle<> here) {
      flow_.here_ = here;
      flow_.wait_ = wait_;
    }
    Status await_resume();

   private:
    Flow& flow_;
    std::shared_ptr<Wait> wait_;
  };
  Awaiter Until(std::shared_ptr<Wait> wait) { return {this, std::move(wait)}; }
  Awaiter Sleep(std::chrono::milliseconds time);

 private:
  class Parked;
  // How the call ends, when the task has; else leaves a suspension.
  Status EndOrPark();

  request::Call& call_;
  std::optional<Task<Status>> task_;
  std::coroutine_handle<> here_;  // where the task waits
  std::shared_ptr<Wait> wait_;
  Status ended_;  // why the operation has to end; Ok: it need not
};

}  // namespace quire::router
