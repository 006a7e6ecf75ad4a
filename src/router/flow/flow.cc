// SPDX-License-Identifier: Apache-2.0
#include "router/flow/flow.h"

#include <utility>

namespace quire::router {

namespace {

class Timer final : public Wait {
 public:
  explicit Timer(std::chrono::milliseconds time) : until_(Clock::now() + time) {}
  bool ready() override { return Clock::now() >= until_; }
  Clock::time_point until() const override { return until_; }

 private:
  const Clock::time_point until_;
};

}  // namespace

class Flow::Parked final : public request::Suspension {
 public:
  explicit Parked(std::shared_ptr<Flow> flow) : flow_(std::move(flow)) {
    until = flow_->wait_->until();
  }

  bool Listen(request::Waker* waker) override {
    listener_ = flow_->wait_->rung.Listen([waker] { waker->Wake(); });
    return !flow_->wait_->ready();
  }

  Status Resume(request::Call& call) override {
    if (!flow_->wait_->ready()) {
      flow_->ended_ = call.op.CheckInterruptNow();
      if (flow_->ended_.ok()) {  // woken for nothing
        call.suspension = std::make_unique<Parked>(std::move(flow_));
        return Status::Ok();
      }
    }
    listener_.reset();
    flow_->wait_.reset();
    flow_->here_.resume();
    return flow_->EndOrPark();
  }

 private:
  std::shared_ptr<Flow> flow_;
  std::unique_ptr<Bell::Listener> listener_;
};

Status Flow::Awaiter::await_resume() {
  if (!flow_.ended_.ok()) {
    wait_->Abandon();
  }
  return flow_.ended_;
}

Flow::Awaiter Flow::Sleep(std::chrono::milliseconds time) {
  return Until(std::make_shared<Timer>(time));
}

Status Flow::Start(Task<Status> task) {
  task_.emplace(std::move(task));
  task_->Begin();
  return EndOrPark();
}

Status Flow::EndOrPark() {
  if (task_->done()) {
    return task_->Take();
  }
  call_.suspension = std::make_unique<Parked>(shared_from_this());
  return Status::Ok();
}

}  // namespace quire::router
