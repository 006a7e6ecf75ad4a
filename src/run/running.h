// SPDX-License-Identifier: Apache-2.0
//
// All that belongs to one request while it is run.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/op_context.h"
#include "quire/bson.h"
#include "quire/status.h"
#include "request/call.h"
#include "request/request.h"
#include "run/fail_point.h"
#include "run/operations.h"
#include "run/session.h"

namespace quire::run {

class Dispatcher;

// A request as it comes in.
struct Arrival {
  Dispatcher& dispatcher;
  size_t row;
  request::Client& client;
  const request::Request& request;
  std::string* reply;  // the dispatcher's until the request has ended or is parked
};

// The state of one request, from its first gate to its reply. Whoever runs commands derives what
// else it keeps. It has an address for life: parking gives the door the object as it is.
class Running : public request::Parked {
 public:
  explicit Running(const Arrival& arrival);
  ~Running() override;
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  // Each thread keeps the memory of the last one, so that a plain request allocates none.
  static void* operator new(size_t size);
  static void operator delete(void* block, size_t size);

  // Passes gates until the last one, an answer, or a suspension. Goes on with the suspension when
  // there is one.
  void Advance();
  bool suspended() const { return call.suspension != nullptr; }
  // Lets `waker` be called when it may go on; false when it may already.
  bool Listen(request::Waker* waker);
  // The same for a door: nothing of it refers to the request's bytes any more.
  bool Park(request::Waker* waker);
  // Ends the reply of a command that has not failed.
  void Complete();
  // The end: hands out the reply, and what the door does with it.
  request::Outcome Finish(std::string* reply);

  std::chrono::steady_clock::time_point until() const override;
  request::Outcome Resume(std::unique_ptr<request::Parked> self, std::string* reply) override;
  size_t held() const override;

  // For gates.
  void Register();
  // The request's bytes have moved since it was parsed.
  bool moved() const { return owned_ != nullptr; }

  Dispatcher& dispatcher;
  const size_t row;
  OpContext op;

 private:
  std::string bytes_;  // before `reply`, which writes here

 public:
  bson::Builder reply;
  request::Outcome outcome;
  request::Call call;
  Status status;                     // of the gate that refused it, or of the command
  bool ran = false;                  // the row's function was called
  bool done = false;                 // a gate has answered: those that follow are not asked
  bool aborted = false;              // the transaction that the command ran in
  std::shared_ptr<Session> session;  // of lsid; null without
  Checkout checkout;                 // the session is this request's alone
  std::optional<Failure> failure;    // that a fail point has in mind

 private:
  struct Owned;
  std::unique_ptr<Owned> Own() const;
  bool Waits(request::Waker* waker);

  const size_t start_;  // of the reply in bytes_
  const std::chrono::steady_clock::time_point began_;
  std::chrono::steady_clock::duration idle_{};  // waited for what comes when it comes
  std::chrono::steady_clock::time_point suspended_at_{};
  size_t next_ = 0;  // gate
  bool finished_ = false;
  std::unique_ptr<Owned> owned_;
  std::optional<Operations::Registration> registration_;
};

}  // namespace quire::run
