// SPDX-License-Identifier: Apache-2.0
//
// Those who wait for the set: each is answered once, and not at all once it no longer wants to be.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "engine/replication.h"

namespace quire::repl {

class AnswerState {
 public:
  explicit AnswerState(engine::AnswerFunction answer) : answer_(std::move(answer)) {}

  void Give(Status status) {
    std::lock_guard lock(mutex_);
    if (engine::AnswerFunction answer = std::exchange(answer_, nullptr)) {
      answer(std::move(status));
    }
  }
  // After it the answer neither is nor will be given. False: it was given.
  bool Forget() {
    std::lock_guard lock(mutex_);
    return std::exchange(answer_, nullptr) != nullptr;
  }

 private:
  // Recursive: an answer may end the wait that it answers.
  std::recursive_mutex mutex_;
  engine::AnswerFunction answer_;
};

// Calls `abandoned` when it ends before the answer.
class Pending final : public engine::PendingAnswer {
 public:
  Pending(std::shared_ptr<AnswerState> state, std::function<void()> abandoned)
      : state_(std::move(state)), abandoned_(std::move(abandoned)) {}
  ~Pending() override {
    if (state_->Forget()) {
      abandoned_();
    }
  }
  Pending(const Pending&) = delete;
  Pending& operator=(const Pending&) = delete;

 private:
  const std::shared_ptr<AnswerState> state_;
  const std::function<void()> abandoned_;
};

}  // namespace quire::repl
