// SPDX-License-Identifier: Apache-2.0
#include "run/condition.h"

#include <utility>

#include "base/error_codes.h"
#include "base/try.h"
#include "request/write_reply.h"
#include "run/gates.h"
#include "run/running.h"

namespace quire::run {

namespace {

class FinishedReply : public request::Suspension {
 public:
  FinishedReply(std::unique_ptr<Condition> condition, bson::Document concern)
      : condition_(std::move(condition)), concern_(std::move(concern)) {
    reply_only = true;
  }

  bool Listen(request::Waker* waker) override {
    listener_ = condition_->Listen([waker] { waker->Wake(); });
    return !condition_->Held();
  }

  Status Resume(request::Call& call) override {
    const std::optional<Status> held = condition_->Held();
    const Status interrupted = held ? Status::Ok() : call.op.CheckInterruptNow();
    if (held && held->ok()) {
      return Status::Ok();
    }
    if (held || !interrupted.ok()) {
      call.write_concern_error = ConcernError(held ? *held : interrupted, concern_);
    } else if (std::chrono::steady_clock::now() >= until) {
      call.write_concern_error =
          ConcernError({kWriteConcernFailed, "waiting for replication timed out"}, concern_);
    } else {
      listener_.reset();
      AwaitCondition(std::move(condition_), until, call, std::move(concern_));
    }
    return Status::Ok();
  }

 private:
  std::unique_ptr<Condition> condition_;
  bson::Document concern_;
  std::unique_ptr<Bell::Listener> listener_;
};

class AwaitedAnswer : public request::Suspension {
 public:
  AwaitedAnswer(std::shared_ptr<Answer> answer, std::shared_ptr<void> request, Then then)
      : answer_(std::move(answer)), request_(std::move(request)), then_(std::move(then)) {
    idle = true;
  }

  bool Listen(request::Waker* waker) override {
    listener_ = answer_->Listen([waker] { waker->Wake(); });
    return !answer_->status();
  }

  Status Resume(request::Call& call) override {
    if (std::optional<Status> given = answer_->status()) {
      return then_(*std::move(given));
    }
    if (Status interrupted = call.op.CheckInterruptNow(); !interrupted.ok()) {
      return then_(std::move(interrupted));
    }
    // Woken for nothing.
    AwaitAnswer(std::move(answer_), std::move(request_), call, std::move(then_));
    return Status::Ok();
  }

 private:
  std::shared_ptr<Answer> answer_;
  std::shared_ptr<void> request_;
  Then then_;
  std::unique_ptr<Bell::Listener> listener_;
};

// What was parsed may refer to bytes that are gone.
Status ParseWhatMoved(Running& running) {
  return running.moved() && !running.suspended() ? Parse(running) : Status::Ok();
}

class AwaitedBell : public request::Suspension {
 public:
  AwaitedBell(Bell& bell, std::function<bool()> waits, Running& running, Status (*again)(Running&))
      : bell_(bell), waits_(std::move(waits)), running_(running), again_(again) {}

  bool Listen(request::Waker* waker) override {
    listener_ = bell_.Listen([waker] { waker->Wake(); });
    return waits_();
  }

  Status Resume(request::Call& call) override {
    RETURN_IF_ERROR(call.op.CheckInterruptNow());
    RETURN_IF_ERROR(again_(running_));
    return ParseWhatMoved(running_);
  }

 private:
  Bell& bell_;
  std::function<bool()> waits_;
  Running& running_;
  Status (*again_)(Running&);
  std::unique_ptr<Bell::Listener> listener_;
};

}  // namespace

void AwaitCondition(std::unique_ptr<Condition> condition,
                    std::chrono::steady_clock::time_point until, request::Call& call,
                    bson::Document concern) {
  auto reply = std::make_unique<FinishedReply>(std::move(condition), std::move(concern));
  reply->until = until;
  call.suspension = std::move(reply);
}

bson::Document ConcernError(const Status& status, bson::View concern) {
  bson::Builder info;
  if (status.code() == kWriteConcernFailed) {
    info.Append("wtimeout", true);
  }
  if (!concern.empty()) {
    info.Append("writeConcern", concern);
  }
  return request::WriteConcernError(status, info.Finish());
}

void AwaitAnswer(std::shared_ptr<Answer> answer, std::shared_ptr<void> request, request::Call& call,
                 Then then) {
  call.suspension =
      std::make_unique<AwaitedAnswer>(std::move(answer), std::move(request), std::move(then));
}

void AwaitAnswerBefore(std::shared_ptr<Answer> answer, std::shared_ptr<void> request,
                       Running& running, Then then) {
  AwaitAnswer(std::move(answer), std::move(request), running.call,
              [&running, then = std::move(then)](Status status) -> Status {
                RETURN_IF_ERROR(then(std::move(status)));
                return ParseWhatMoved(running);
              });
}

void AwaitBell(Bell& bell, std::function<bool()> waits, Running& running,
               Status (*again)(Running&)) {
  running.call.suspension = std::make_unique<AwaitedBell>(bell, std::move(waits), running, again);
}

}  // namespace quire::run
