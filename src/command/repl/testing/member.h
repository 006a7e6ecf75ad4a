// SPDX-License-Identifier: Apache-2.0
//
// A node that is a member of a set, for tests: its requests can be parked.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <string_view>

#include "command/repl/testing/fake_replication.h"
#include "command/testing/harness.h"

namespace quire::command {

class CountingWaker final : public request::Waker {
 public:
  void Wake() override { ++wakes; }
  std::atomic<int> wakes = 0;
};

// A request that was sent and may be waiting.
class Sent {
 public:
  bool parked() const { return outcome_.parked != nullptr; }
  bool woken() const { return waker_->wakes > 0; }
  // Goes on, as a door does once it was woken.
  void Resume() {
    waker_->wakes = 0;
    std::unique_ptr<request::Parked> self = std::move(outcome_.parked);
    request::Parked& parked = *self;
    outcome_ = parked.Resume(std::move(self), &reply_);
  }
  const bson::Document& reply() {
    document_ = bson::Document::FromTrusted(reply_);
    return document_;
  }
  const request::Outcome& outcome() const { return outcome_; }
  std::chrono::steady_clock::time_point until() const { return outcome_.parked->until(); }

 private:
  friend class SetMemberTest;
  std::unique_ptr<request::Client> client_ = std::make_unique<request::Client>();
  std::unique_ptr<CountingWaker> waker_ = std::make_unique<CountingWaker>();
  request::Outcome outcome_;
  std::string reply_;
  bson::Document document_;
};

class SetMemberTest : public testing::Test {
 protected:
  SetMemberTest() : set_(&node_.engine()) { node_.engine().replication = &set_; }

  Sent Send(std::string_view json, std::string_view database = "test", bool exhaust = false) {
    Sent sent;
    const bson::Document body = *bson::Document::FromJson(json);
    request::Request request;
    request.body = body;
    request.database = database;
    request.exhaust_allowed = exhaust;
    request.waker = sent.waker_.get();
    sent.outcome_ = node_.commands().Run(*sent.client_, request, &sent.reply_);
    return sent;
  }
  bson::Document Run(std::string_view json, std::string_view database = "test") {
    Sent sent = Send(json, database);
    EXPECT_FALSE(sent.parked()) << json;
    return sent.parked() ? bson::Document() : sent.reply();
  }
  int Code(std::string_view json, std::string_view database = "test") {
    const bson::Document reply = Run(json, database);
    return reply["code"].missing() ? 0 : reply["code"].AsInt32();
  }
  // The labels of an error, as JSON; "" without.
  static std::string Labels(const bson::Document& reply) {
    const bson::Value labels = reply["errorLabels"];
    return labels.missing() ? "" : bson::ToJson(labels);
  }
  static int ConcernCode(const bson::Document& reply) {
    const bson::Value error = reply["writeConcernError"];
    return error.missing() ? 0 : error.AsDocument()["code"].AsInt32();
  }

  Node node_;
  FakeReplication set_;
};

}  // namespace quire::command
