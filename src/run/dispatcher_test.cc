// SPDX-License-Identifier: Apache-2.0
//
// Requests through the gates of a backend that keeps nothing: what waits, what it keeps meanwhile,
// and who ends it.
#include "run/dispatcher.h"

#include <gtest/gtest.h>

#include <functional>
#include <mutex>
#include <set>
#include <thread>

#include "base/error_codes.h"
#include "run/backend.h"
#include "run/condition.h"
#include "run/labels.h"

namespace quire::run {
namespace {

using request::CommandInfo;

struct TestSession final : Session {
  using Session::Session;
  void AbortQuietly() override {}
  bool expired() const override { return false; }
};

struct TestSessions final : SessionTable {
  std::shared_ptr<Session> Make(std::string lsid) override {
    return std::make_shared<TestSession>(std::move(lsid));
  }
};

// Something that happens once.
struct Event {
  void Happen(Status how) {
    {
      std::lock_guard lock(mutex);
      status = std::move(how);
    }
    bell.Ring();
  }
  std::mutex mutex;
  std::optional<Status> status;  // protected by mutex
  Bell bell;
};

class Happened : public Condition {
 public:
  explicit Happened(Event& event) : event_(event) {}
  std::unique_ptr<Bell::Listener> Listen(std::function<void()> changed) override {
    return event_.bell.Listen(std::move(changed));
  }
  std::optional<Status> Held() override {
    std::lock_guard lock(event_.mutex);
    return event_.status;
  }

 private:
  Event& event_;
};

constexpr CommandInfo kRead = {"look", "", request::kRead, "reads"};
constexpr CommandInfo kWrite = {
    "put", "", request::kWrite | request::kWriteConcern | request::kRetryable, "writes"};

// Answers {n: <times the command ran>}; a write waits for `event` when one is set.
class TestBackend final : public Backend {
 public:
  std::unique_ptr<Running> Begin(const Arrival& arrival) override {
    return std::make_unique<Running>(arrival);
  }
  bson::Timestamp Now() override { return {7, 1}; }
  void AdvanceClock(bson::Timestamp) override {}
  bson::Timestamp Visible() override { return {7, 1}; }
  SessionTable& sessions() override { return sessions_; }
  bool access_control() const override { return false; }
  Status AuditBegins(const request::Call&) override { return Status::Ok(); }
  Status Parse(Running& running) override {
    ++parsed;
    argument = running.call.body.front().value().AsInt32();
    return Status::Ok();
  }
  Status Authorise(Running&) override { return Status::Ok(); }
  Status AllowHere(Running&) override { return Status::Ok(); }
  Status AllowWrite(Running&) override { return Status::Ok(); }
  std::chrono::milliseconds default_read_time() const override { return {}; }
  Status Prepare(Running&) override { return Status::Ok(); }
  Status EnterTransaction(Running&) override { return Status::Ok(); }
  Status Run(Running& running) override {
    running.call.reply.Append("n", ++ran);
    return argument == kFails ? Status(kBadValue, "no") : Status::Ok();
  }
  Status ConfirmRead(Running&) override { return Status::Ok(); }
  bool AbortTransaction(Running&) override { return false; }
  void Written(Running&) override {}
  Status AwaitWriteConcern(Running& running) override {
    if (event != nullptr) {
      AwaitCondition(std::make_unique<Happened>(*event), until, running.call);
    }
    return Status::Ok();
  }
  const auth::TimeSigner* time_signer() const override { return nullptr; }
  bool MaySetClock(Running&) override { return true; }
  bool MayBeRepeated(int code) const override { return IsRetryable(code); }
  bool knows_writes() const override { return true; }
  Status ForClients(const Status& status) const override { return status; }
  std::chrono::seconds most_ahead() const override { return {}; }
  bool dates_replies_at_end() const override { return false; }
  void AppendTopology(bson::Builder*) override {}
  void AuditEnds(const request::Call&, const Status& status) override {
    ended.push_back(status.code());
  }
  void KeepProfile(std::string_view, const bson::Document&) override {}
  Namespaces namespaces() override {
    return {0, [](std::string_view) { return true; }};
  }

  static constexpr int32_t kFails = 13;
  Event* event = nullptr;
  std::chrono::steady_clock::time_point until = std::chrono::steady_clock::time_point::max();
  int32_t parsed = 0;
  int32_t ran = 0;
  int32_t argument = 0;
  std::vector<int> ended;  // codes

 private:
  TestSessions sessions_;
};

class TestWaker : public request::Waker {
 public:
  void Wake() override { ++wakes; }
  std::atomic<int> wakes = 0;
};

class DispatcherTest : public testing::Test {
 protected:
  static constexpr std::string_view kPrefix = "frame";

  // Runs the command as a door does that can park; its bytes are gone afterwards.
  request::Outcome Send(std::string_view json) {
    bson::Document body = *bson::Document::FromJson(json);
    request::Request request;
    request.body = body;
    request.database = "test";
    request.waker = &waker_;
    reply_ = kPrefix;
    request::Outcome outcome = dispatcher_.Run(client_, request, &reply_);
    std::string(body.view().size(), 'x')
        .copy(const_cast<char*>(body.view().data()), body.view().size());
    return outcome;
  }
  request::Outcome Resume(request::Outcome outcome) {
    request::Parked& parked = *outcome.parked;
    reply_ = "left by another";
    return parked.Resume(std::move(outcome.parked), &reply_);
  }
  bson::View Reply() {
    EXPECT_EQ(reply_.substr(0, kPrefix.size()), kPrefix);
    return bson::View(reply_.data() + kPrefix.size());
  }
  int ConcernError() {
    bson::Value error = Reply()["writeConcernError"];
    return error.is_document() ? error.AsDocument()["code"].AsInt32() : 0;
  }
  int64_t RunningId() {
    int64_t id = 0;
    dispatcher_.operations().ForEach([&](const RunningOp& op) {
      EXPECT_EQ(op.call->body.front().name(), "put");
      id = op.id;
    });
    return id;
  }

  TestBackend backend_;
  Dispatcher dispatcher_{{&kRead, &kWrite}, &backend_};
  TestWaker waker_;
  request::Client client_;
  Event event_;
  std::string reply_;
};

TEST_F(DispatcherTest, EveryGateHasANameOfItsOwn) {
  std::set<std::string_view> names;
  for (const Gate& gate : Gates()) {
    EXPECT_TRUE(names.insert(gate.name).second) << gate.name;
    EXPECT_NE(gate.pass, nullptr) << gate.name;
  }
  EXPECT_LT(GatesFor(kRead).size(), GatesFor(kWrite).size());
}

TEST_F(DispatcherTest, WhatNeedNotWaitIsAnsweredAtOnce) {
  EXPECT_EQ(Send(R"({"look": 1})").parked, nullptr);
  EXPECT_EQ(Reply()["n"].AsInt32(), 1);
  EXPECT_EQ(Reply()["ok"].AsDouble(), 1);
  EXPECT_EQ(Send(R"({"stroll": 1})").parked, nullptr);
  EXPECT_EQ(Reply()["code"].AsInt32(), kCommandNotFound);
}

TEST_F(DispatcherTest, AFinishedReplyWaitsAndTheCommandIsNotRunAgain) {
  backend_.event = &event_;
  request::Outcome outcome = Send(R"({"put": 1})");
  ASSERT_NE(outcome.parked, nullptr);
  EXPECT_GT(outcome.parked->held(), 0U);
  outcome = Resume(std::move(outcome));
  ASSERT_NE(outcome.parked, nullptr) << "woken for nothing";
  EXPECT_EQ(waker_.wakes, 0);
  event_.Happen(Status::Ok());
  EXPECT_EQ(waker_.wakes, 1);
  EXPECT_NE(RunningId(), 0);
  outcome = Resume(std::move(outcome));
  EXPECT_EQ(outcome.parked, nullptr);
  EXPECT_EQ(Reply()["n"].AsInt32(), 1);
  EXPECT_EQ(Reply()["ok"].AsDouble(), 1);
  EXPECT_EQ(ConcernError(), 0);
  EXPECT_EQ(RunningId(), 0);
  EXPECT_EQ(backend_.ended, std::vector<int>{0});
}

TEST_F(DispatcherTest, ACommandThatFailedWaitsToo) {
  backend_.event = &event_;
  request::Outcome outcome = Send(R"({"put": 13})");
  ASSERT_NE(outcome.parked, nullptr);
  event_.Happen(Status::Ok());
  outcome = Resume(std::move(outcome));
  EXPECT_EQ(Reply()["code"].AsInt32(), kBadValue);
}

TEST_F(DispatcherTest, WhatHappensIsTheRepliesConcernError) {
  struct Case {
    const char* what;
    int code;
    std::function<void()> happens;
  };
  const Case kCases[] = {
      {"it will never hold", kPrimarySteppedDown,
       [this] { event_.Happen(Status(kPrimarySteppedDown, "gone")); }},
      {"killOp", kInterrupted,
       [this] { dispatcher_.operations().Kill(RunningId(), kInterrupted); }},
      {"the end of the server", kInterruptedAtShutdown, [this] { dispatcher_.Stopping(); }},
  };
  for (const Case& test : kCases) {
    event_.status.reset();
    backend_.event = &event_;
    request::Outcome outcome = Send(R"({"put": 1})");
    ASSERT_NE(outcome.parked, nullptr) << test.what;
    const int before = waker_.wakes;
    test.happens();
    EXPECT_EQ(waker_.wakes, before + 1) << test.what;
    outcome = Resume(std::move(outcome));
    EXPECT_EQ(outcome.parked, nullptr) << test.what;
    EXPECT_EQ(ConcernError(), test.code) << test.what;
    EXPECT_EQ(Reply()["ok"].AsDouble(), 1) << test.what;
  }
}

TEST_F(DispatcherTest, TimeEndsWaits) {
  backend_.event = &event_;
  request::Outcome outcome = Send(R"({"put": 1, "maxTimeMS": 3600000})");
  ASSERT_NE(outcome.parked, nullptr);
  EXPECT_LT(outcome.parked->until(), std::chrono::steady_clock::time_point::max());
  backend_.until = std::chrono::steady_clock::now();  // a wtimeout that is over
  outcome = Send(R"({"put": 1})");
  EXPECT_EQ(outcome.parked, nullptr);
  EXPECT_EQ(ConcernError(), kWriteConcernFailed);
  EXPECT_TRUE(
      Reply()["writeConcernError"].AsDocument()["errInfo"].AsDocument()["wtimeout"].AsBool());
}

TEST_F(DispatcherTest, ADoorThatDropsARequestEndsIt) {
  backend_.event = &event_;
  request::Outcome outcome = Send(R"({"put": 1})");
  ASSERT_NE(outcome.parked, nullptr);
  outcome.parked.reset();
  EXPECT_EQ(RunningId(), 0);
  EXPECT_EQ(backend_.ended, std::vector<int>{kInterrupted});
  event_.Happen(Status::Ok());
  EXPECT_EQ(waker_.wakes, 0) << "nobody listens any more";
}

TEST_F(DispatcherTest, ADoorThatCannotParkKeepsItsThread) {
  backend_.event = &event_;
  const bson::Document body = *bson::Document::FromJson(R"({"put": 1})");
  request::Request request;
  request.body = body;
  request.database = "test";
  reply_ = kPrefix;
  std::thread waits([&] { dispatcher_.Run(client_, request, &reply_); });
  while (RunningId() == 0) {
    std::this_thread::yield();
  }
  event_.Happen(Status::Ok());
  waits.join();
  EXPECT_EQ(Reply()["n"].AsInt32(), 1);
}

TEST_F(DispatcherTest, ASessionInUseParksTheNextRequestAndAWaitingReplyFreesIt) {
  constexpr std::string_view kPut =
      R"({"put": 1, "txnNumber": {"$numberLong": "1"},
          "lsid": {"id": {"$binary": {"base64": "AAAAAAAAAAAAAAAAAAAAAA==", "subType": "04"}}}})";
  auto session = *backend_.sessions().Get(std::string(16, '\0'));
  Checkout user = Checkout::Try(session.get());
  ASSERT_TRUE(user);
  request::Outcome first = Send(kPut);
  ASSERT_NE(first.parked, nullptr);
  EXPECT_EQ(backend_.ran, 0);
  user.GiveBack();
  EXPECT_EQ(waker_.wakes, 1);
  backend_.event = &event_;
  backend_.argument = 0;
  first = Resume(std::move(first));
  ASSERT_NE(first.parked, nullptr) << "now for its concern";
  EXPECT_EQ(backend_.ran, 1);
  EXPECT_EQ(backend_.argument, 1) << "parsed again, from bytes that are still there";
  EXPECT_FALSE(session->in_use()) << "others need not wait for the concern";
  event_.Happen(Status::Ok());
  first = Resume(std::move(first));
  EXPECT_EQ(Reply()["n"].AsInt32(), 1);

  user = Checkout::Try(session.get());
  request::Outcome killed = Send(kPut);
  ASSERT_NE(killed.parked, nullptr);
  dispatcher_.Disconnected(client_);
  killed = Resume(std::move(killed));
  EXPECT_EQ(Reply()["code"].AsInt32(), kInterrupted);
  EXPECT_EQ(backend_.ran, 1);
}

}  // namespace
}  // namespace quire::run
