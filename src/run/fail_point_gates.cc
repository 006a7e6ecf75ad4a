// SPDX-License-Identifier: Apache-2.0
#include "base/try.h"
#include "bson/number.h"
#include "run/backend.h"
#include "run/condition.h"
#include "run/dispatcher.h"
#include "run/fail_point.h"
#include "run/gates.h"
#include "run/labels.h"

namespace quire::run {

namespace {

// Nothing wakes it but the end of its time or of the operation.
class Pause : public request::Suspension {
 public:
  explicit Pause(std::chrono::milliseconds time) {
    until = std::chrono::steady_clock::now() + time;
  }

  bool Listen(request::Waker*) override { return true; }

  Status Resume(request::Call& call) override {
    RETURN_IF_ERROR(call.op.CheckInterruptNow());
    if (std::chrono::steady_clock::now() < until) {
      call.suspension = std::make_unique<Pause>(*this);
    }
    return Status::Ok();
  }
};

// That the point which holds replies is off.
class PointIsOff : public Condition {
 public:
  explicit PointIsOff(FailPoints& points) : points_(points) {}

  std::unique_ptr<Bell::Listener> Listen(std::function<void()> changed) override {
    return points_.changed().Listen(std::move(changed));
  }
  std::optional<Status> Held() override {
    return points_.Holds(FailPoints::kHoldReply) ? std::nullopt : std::optional(Status::Ok());
  }

 private:
  FailPoints& points_;
};

}  // namespace

namespace {

bson::Document WriteConcernErrorOf(const Running& running) {
  const bson::View given = running.failure->write_concern_error.value().AsDocument();
  const Status error(static_cast<int>(bson::ClampedInt64(given["code"])), "");
  const Status seen = running.dispatcher.backend().ForClients(error);
  if (!running.failure->rewritten || seen.code() == error.code()) {
    return bson::Document(given);
  }
  bson::Builder out;
  out.Append("code", static_cast<int32_t>(seen.code()))
      .Append("codeName", seen.code_name())
      .Append("errmsg", seen.message());
  return out.Finish();
}

}  // namespace

Status MeetTimeLimitPoint(Running& running) {
  return running.dispatcher.fail_points().MeetTimeLimit(running.op);
}

Status MeetCommandPoint(Running& running) {
  if (!running.dispatcher.fail_points().armed()) {
    return Status::Ok();
  }
  running.failure = running.dispatcher.fail_points().Meet(running.call);
  if (running.failure && running.failure->block.count() > 0) {
    running.call.suspension = std::make_unique<Pause>(running.failure->block);
  }
  return Status::Ok();
}

Status EndByCommandPoint(Running& running) {
  if (!running.failure) {
    return Status::Ok();
  }
  request::Call& call = running.call;
  Status failed = End(*running.failure, call);
  if (failed.ok()) {
    return failed;
  }
  if (running.failure->rewritten) {
    failed = running.dispatcher.backend().ForClients(failed);
  }
  return running.failure->labels.value().is_array()
             ? WithLabels(failed, running.failure->labels.value())
             : Labelled(failed, call, call.generic.in_transaction(), running.dispatcher.backend());
}

Status HoldReplyByPoint(Running& running) {
  FailPoints& points = running.dispatcher.fail_points();
  if (points.armed() && running.ran && points.MeetHold(FailPoints::kHoldReply)) {
    AwaitCondition(std::make_unique<PointIsOff>(points),
                   std::chrono::steady_clock::time_point::max(), running.call);
  }
  return Status::Ok();
}

// The reply of a command that was run although it was to fail, or failed by itself.
Status AddFailedWriteConcern(Running& running) {
  if (!running.ran || !running.failure ||
      !running.failure->write_concern_error.value().is_document()) {
    return Status::Ok();
  }
  request::Call& call = running.call;
  const bson::Document error = WriteConcernErrorOf(running);
  call.write_concern_error = error;
  if (running.status.ok() &&
      running.failure->labels.value().is_array()) {  // these, instead of those of the code
    call.reply.Append("writeConcernError", error)
        .Append("errorLabels", running.failure->labels.value());
    call.write_concern_error = {};
  }
  return Status::Ok();
}

}  // namespace quire::run
