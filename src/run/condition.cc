// SPDX-License-Identifier: Apache-2.0
#include "run/condition.h"

#include <utility>

#include "base/error_codes.h"
#include "base/try.h"

namespace quire::run {

namespace {

void AppendConcernError(const Status& status, bool timed_out, bson::Builder* reply) {
  reply->BeginDocument("writeConcernError")
      .Append("code", static_cast<int32_t>(status.code()))
      .Append("codeName", status.code_name())
      .Append("errmsg", status.message());
  if (timed_out) {
    reply->BeginDocument("errInfo").Append("wtimeout", true).End();
  }
  reply->End();
}

class FinishedReply : public request::Suspension {
 public:
  explicit FinishedReply(std::unique_ptr<Condition> condition) : condition_(std::move(condition)) {}

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
      AppendConcernError(held ? *held : interrupted, false, &call.reply);
    } else if (std::chrono::steady_clock::now() >= until) {
      AppendConcernError({kWriteConcernFailed, "waiting for replication timed out"}, true,
                         &call.reply);
    } else {
      AwaitCondition(std::move(condition_), until, call);
    }
    return Status::Ok();
  }

 private:
  std::unique_ptr<Condition> condition_;
  std::unique_ptr<Bell::Listener> listener_;
};

}  // namespace

void AwaitCondition(std::unique_ptr<Condition> condition,
                    std::chrono::steady_clock::time_point until, request::Call& call) {
  auto reply = std::make_unique<FinishedReply>(std::move(condition));
  reply->until = until;
  call.suspension = std::move(reply);
}

}  // namespace quire::run
