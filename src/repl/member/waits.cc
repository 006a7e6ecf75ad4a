// SPDX-License-Identifier: Apache-2.0
//
// Writers that wait for their concern, readers that wait for a time.
#include <algorithm>
#include <utility>

#include "base/error_codes.h"
#include "bson/number.h"
#include "repl/member/member_internal.h"
#include "repl/message/codec.h"

namespace quire::repl {
namespace {

constexpr Millis kAskAgain = 200;  // for a no-op that makes the log reach a time
constexpr std::chrono::seconds kNoopTimeout{2};

Status NotAMember() {
  return {kNotPrimaryOrSecondary, "node is not in primary or recovering state"};
}

WriteConcern ConcernOf(const request::WriteConcern& concern) {
  WriteConcern out;
  out.timeout = concern.wtimeout;
  if (concern.w.is_string()) {
    const bool majority = concern.w.AsString() == "majority";
    out.kind = majority ? WriteConcern::Kind::kMajority : WriteConcern::Kind::kMode;
    out.mode = concern.w.AsString();
    return out;
  }
  if (concern.w.is_document()) {
    out.kind = WriteConcern::Kind::kTags;
    for (const bson::Element& tag : concern.w.AsDocument()) {
      out.tags.emplace_back(tag.name(), static_cast<int>(bson::ClampedInt64(tag.value())));
    }
    return out;
  }
  out.kind = WriteConcern::Kind::kNumber;
  if (concern.w.type() == bson::Type::kDouble) {
    out.number = static_cast<int>(concern.w.AsDouble());
  } else if (concern.w.type() == bson::Type::kInt32 || concern.w.type() == bson::Type::kInt64) {
    out.number = static_cast<int>(concern.w.AsInt64());
  }
  return out;
}

}  // namespace

std::unique_ptr<engine::PendingAnswer> Member::Impl::Await(std::function<Input(WaiterId)> ask,
                                                           engine::AnswerFunction answer) {
  auto state = std::make_shared<AnswerState>(std::move(answer));
  const WaiterId id = ++last_wait_;
  Post([this, id, state, ask = std::move(ask)] {
    if (!core_) {
      state->Give(NotAMember());
      return;
    }
    waits_.emplace(id, state);
    Step(ask(id));
  });
  return std::make_unique<Pending>(state, [this, id, inbox = inbox_] {
    inbox->Post([this, id] {
      if (waits_.erase(id) > 0) {
        Step(Abandon{id});
      }
    });
  });
}

std::unique_ptr<engine::PendingAnswer> Member::Impl::AwaitTime(uint64_t time, bool committed,
                                                               engine::AnswerFunction answer) {
  auto state = std::make_shared<AnswerState>(std::move(answer));
  Post([this, time, committed, state] {
    if (!core_) {
      state->Give(NotAMember());
      return;
    }
    time_waits_.push_back({time, committed, state});
  });
  return std::make_unique<Pending>(state, [this, state, inbox = inbox_] {
    inbox->Post([this, state] {
      std::erase_if(time_waits_, [&](const TimeWait& wait) { return wait.state == state; });
    });
  });
}

void Member::Impl::CheckTimeWaits() {
  uint64_t beyond = 0;
  std::erase_if(time_waits_, [&](const TimeWait& wait) {
    const bool there =
        core_->applied() >= wait.time && (!wait.committed || core_->commit() >= wait.time);
    if (there) {
      wait.state->Give(Status::Ok());
    } else if (wait.time > core_->log().last().time) {
      beyond = std::max(beyond, wait.time);
    }
    return there;
  });
  if (beyond != 0) {
    AskForNoop(beyond);
  }
}

// Makes the log reach the time: by a slot of our own, or the primary's.
void Member::Impl::AskForNoop(uint64_t time) {
  const Millis now = Now();
  if (noop_asked_ >= 0 && now < noop_asked_ + kAskAgain) {
    return;
  }
  noop_asked_ = now;
  if (core_->log_open()) {
    engine_.clock().Advance({static_cast<uint32_t>(time >> 32), static_cast<uint32_t>(time)});
    PostNoop(0, "a read waits for a later time");
    return;
  }
  auto host = hosts_.find(core_->leader().member);
  if (host == hosts_.end() || host->first == self_) {
    return;
  }
  bson::Builder body;
  AppendEnvelope(&body);
  body.Append("noop", static_cast<int64_t>(time));
  SendTo(host->second, "beacon", body.Finish(), kNoopTimeout, [](const Result<bson::Document>&) {});
}

Status Member::CheckWriteConcern(const request::WriteConcern& concern) const {
  const auto config = impl_->shared_config();
  if (!config) {
    return Status::Ok();
  }
  const WriteConcern wanted = ConcernOf(concern);
  switch (repl::CheckWriteConcern(*config, wanted)) {
    case kUnsatisfiableWriteConcern:
      return {kUnsatisfiableWriteConcern, "Not enough data-bearing nodes"};
    case kUnknownReplWriteConcern:
      return {kUnknownReplWriteConcern, "No write concern mode named '" + wanted.mode +
                                            "' found in replica set configuration"};
    case kNoSuchKey:
      return {kNoSuchKey, "No member has one of the tags that the write concern asks for"};
    default:
      return Status::Ok();
  }
}

std::unique_ptr<engine::PendingAnswer> Member::AwaitConcern(engine::LogPosition slot,
                                                            const request::WriteConcern& concern,
                                                            engine::AnswerFunction answer) {
  return impl_->Await(
      [slot = ToCore(slot), wanted = ConcernOf(concern)](WaiterId id) -> Input {
        return repl::Await{id, slot, wanted};
      },
      std::move(answer));
}

std::unique_ptr<engine::PendingAnswer> Member::AwaitLinearizable(engine::AnswerFunction answer) {
  return impl_->Await([](WaiterId id) -> Input { return Linearize{id}; }, std::move(answer));
}

std::unique_ptr<engine::PendingAnswer> Member::AwaitTime(uint64_t time, bool committed,
                                                         engine::AnswerFunction answer) {
  return impl_->AwaitTime(time, committed, std::move(answer));
}

}  // namespace quire::repl
