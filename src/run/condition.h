// SPDX-License-Identifier: Apache-2.0
//
// What requests wait for without a thread: conditions of a finished reply (a write whose concern
// does not hold yet; the command is never run again), answers of other threads, bells.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "base/bell.h"
#include "base/mutex.h"
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
// {wtimeout: true}), the operation was interrupted, or what Held says. `concern`, when not empty,
// is told in errInfo as the write concern that does not hold.
void AwaitCondition(std::unique_ptr<Condition> condition,
                    std::chrono::steady_clock::time_point until, request::Call& call,
                    bson::Document concern = {});

// The document of a writeConcernError. WriteConcernFailed says that the time is over.
bson::Document ConcernError(const Status& status, bson::View concern);

class Running;

// Given once, by any thread. Safe for concurrent use.
class Answer {
 public:
  // The first one counts.
  void Give(Status status) {
    {
      MutexLock lock(mutex_);
      if (status_) {
        return;
      }
      status_ = std::move(status);
    }
    given_.Ring();
  }
  // Nothing before.
  std::optional<Status> status() {
    MutexLock lock(mutex_);
    return status_;
  }
  std::unique_ptr<Bell::Listener> Listen(std::function<void()> given) {
    return given_.Listen(std::move(given));
  }

 private:
  Mutex mutex_;
  std::optional<Status> status_ QUIRE_GUARDED_BY(mutex_);
  Bell given_;
};

// The condition that an answer is Ok. `request` is kept while the answer is wanted.
class Answered final : public Condition {
 public:
  Answered(std::shared_ptr<Answer> answer, std::shared_ptr<void> request)
      : answer_(std::move(answer)), request_(std::move(request)) {}
  std::unique_ptr<Bell::Listener> Listen(std::function<void()> changed) override {
    return answer_->Listen(std::move(changed));
  }
  std::optional<Status> Held() override { return answer_->status(); }

 private:
  std::shared_ptr<Answer> answer_;
  std::shared_ptr<void> request_;
};

// What happens with the answer: its status, or why nobody waits for it any longer (killed, out of
// time).
using Then = std::function<Status(Status)>;

// Lets the call wait for `answer`; then `then` says how it ends. `request` is kept meanwhile.
void AwaitAnswer(std::shared_ptr<Answer> answer, std::shared_ptr<void> request, request::Call& call,
                 Then then);
// The same before the command has run: what was parsed is parsed again when it has moved.
void AwaitAnswerBefore(std::shared_ptr<Answer> answer, std::shared_ptr<void> request,
                       Running& running, Then then);
// Waits for `bell` before the command has run, then passes `again` once more. No ring is missed
// that comes after a `waits` that was true.
void AwaitBell(Bell& bell, std::function<bool()> waits, Running& running,
               Status (*again)(Running&));

}  // namespace quire::run
