// SPDX-License-Identifier: Apache-2.0
//
// Requests of a node that wait without a thread.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "base/error_codes.h"
#include "command/testing/harness.h"

namespace quire::command {
namespace {

class ParkingTest : public testing::Test, public request::Waker {
 protected:
  void Wake() override { ++wakes_; }

  // As a door does that can park; the bytes of the request are gone afterwards.
  request::Outcome Send(request::Client& client, const std::string& json) {
    const bson::Document body = *bson::Document::FromJson(json);
    request::Request request;
    request.body = body;
    request.database = "test";
    request.waker = this;
    reply_.clear();
    return node_.commands().Run(client, request, &reply_);
  }
  request::Outcome Resume(request::Outcome outcome) {
    request::Parked& parked = *outcome.parked;
    return parked.Resume(std::move(outcome.parked), &reply_);
  }
  bson::View Reply() { return bson::View(reply_.data()); }

  // A getMore that waits for news of an empty batch.
  std::string TailableMore() {
    node_.Run(R"({"create": "log", "capped": true, "size": 100000})");
    node_.Run(R"({"insert": "log", "documents": [{"_id": 1}]})");
    const bson::Document opened =
        node_.Run(R"({"find": "log", "tailable": true, "awaitData": true})");
    cursor_ = opened["cursor"].AsDocument()["id"].AsInt64();
    return R"({"getMore": {"$numberLong": ")" + std::to_string(cursor_) +
           R"("}, "collection": "log", "maxTimeMS": 3600000})";
  }
  // What currentOp tells of a getMore under way; empty when there is none.
  bson::Document GetMoreOp() {
    const bson::Document ops = node_.Run(R"({"currentOp": 1, "op": "getmore"})", "admin");
    const bson::View list = ops["inprog"].AsArray();
    return list.empty() ? bson::Document() : bson::Document(list.front().value().AsDocument());
  }

  Node node_;
  request::Client client_;
  std::atomic<int> wakes_ = 0;
  std::string reply_;
  int64_t cursor_ = 0;
};

TEST_F(ParkingTest, AnAwaitingGetMoreIsParkedShownAndWoken) {
  request::Outcome outcome = Send(client_, TailableMore());
  ASSERT_NE(outcome.parked, nullptr);
  const bson::Document shown = GetMoreOp();
  EXPECT_EQ(shown["cursor"].AsDocument()["cursorId"].AsInt64(), cursor_);
  EXPECT_EQ(shown["command"].AsDocument()["collection"].AsString(), "log");
  node_.Run(R"({"insert": "log", "documents": [{"_id": 2}]})");
  EXPECT_EQ(wakes_, 1);
  outcome = Resume(std::move(outcome));
  EXPECT_EQ(outcome.parked, nullptr);
  const bson::View cursor = Reply()["cursor"].AsDocument();
  EXPECT_EQ(bson::ToJson(cursor["nextBatch"]), R"([{"_id":2}])");
  EXPECT_EQ(cursor["id"].AsInt64(), cursor_);
  const bson::Document none = GetMoreOp();
  EXPECT_TRUE(none.view().empty());
}

TEST_F(ParkingTest, AChangeStreamKeepsItsPlace) {
  node_.Run(R"({"create": "c"})");
  const bson::Document opened = node_.Run(
      R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$changeStream": {}},
          {"$match": {"operationType": "delete"}}]})");
  request::Outcome outcome =
      Send(client_, R"({"getMore": {"$numberLong": ")" +
                        std::to_string(opened["cursor"].AsDocument()["id"].AsInt64()) +
                        R"("}, "collection": "c", "maxTimeMS": 3600000})");
  ASSERT_NE(outcome.parked, nullptr);
  node_.Run(R"({"insert": "c", "documents": [{"_id": 1}]})");
  outcome = Resume(std::move(outcome));
  ASSERT_NE(outcome.parked, nullptr) << "that was no delete";
  node_.Run(R"({"delete": "c", "deletes": [{"q": {"_id": 1}, "limit": 1}]})");
  outcome = Resume(std::move(outcome));
  ASSERT_EQ(outcome.parked, nullptr);
  const bson::View batch = Reply()["cursor"].AsDocument()["nextBatch"].AsArray();
  ASSERT_EQ(batch.Count(), 1U);
  EXPECT_EQ(batch.front().value().AsDocument()["operationType"].AsString(), "delete");
}

TEST_F(ParkingTest, KillsReachWhatIsParked) {
  const std::string more = TailableMore();
  request::Outcome outcome = Send(client_, more);
  ASSERT_NE(outcome.parked, nullptr);
  const bson::Document op = GetMoreOp();
  node_.Run(R"({"killOp": 1, "op": )" + std::to_string(op["opid"].AsInt32()) + "}", "admin");
  EXPECT_EQ(wakes_, 1);
  outcome = Resume(std::move(outcome));
  EXPECT_EQ(Reply()["code"].AsInt32(), kInterrupted);

  outcome = Send(client_, TailableMore());
  ASSERT_NE(outcome.parked, nullptr);
  node_.Run(R"({"killCursors": "log", "cursors": [{"$numberLong": ")" + std::to_string(cursor_) +
            R"("}]})");
  EXPECT_GE(wakes_, 2);
  outcome = Resume(std::move(outcome));
  EXPECT_EQ(Reply()["code"].AsInt32(), kCursorKilled);

  outcome = Send(client_, TailableMore());
  ASSERT_NE(outcome.parked, nullptr);
  node_.Run(R"({"drop": "log"})");
  outcome = Resume(std::move(outcome));
  EXPECT_EQ(Reply()["code"].AsInt32(), kQueryPlanKilled);
}

TEST_F(ParkingTest, TheCursorOfAVanishedClientCanBeReadOn) {
  const std::string more = TailableMore();
  request::Outcome outcome = Send(client_, more);
  ASSERT_NE(outcome.parked, nullptr);
  request::Client other;
  EXPECT_EQ(Send(other, more).parked, nullptr);
  EXPECT_EQ(Reply()["code"].AsInt32(), 12051) << "in use";
  outcome.parked.reset();
  node_.Run(R"({"insert": "log", "documents": [{"_id": 2}]})");
  outcome = Send(other, more);
  EXPECT_EQ(outcome.parked, nullptr);
  EXPECT_EQ(bson::ToJson(Reply()["cursor"].AsDocument()["nextBatch"]), R"([{"_id":2}])");
}

TEST_F(ParkingTest, WritesWaitForTheEndOfAnFsyncLock) {
  const std::string kLock = R"({"fsync": 1, "lock": true})";
  const std::string kUnlock = R"({"fsyncUnlock": 1})";
  node_.Run(kLock, "admin");
  node_.Run(kLock, "admin");
  request::Outcome outcome = Send(client_, R"({"insert": "c", "documents": [{"_id": 1}]})");
  ASSERT_NE(outcome.parked, nullptr);
  ASSERT_EQ(node_.Code(kUnlock, "admin"), 0);
  EXPECT_EQ(wakes_, 0) << "one lock is left";
  EXPECT_EQ(node_.Json(R"({"count": "c"})"), R"({"n":0,"ok":1.0})");
  ASSERT_EQ(node_.Code(kUnlock, "admin"), 0);
  EXPECT_EQ(wakes_, 1);
  outcome = Resume(std::move(outcome));
  EXPECT_EQ(outcome.parked, nullptr);
  EXPECT_EQ(Reply()["n"].AsInt32(), 1);
  EXPECT_EQ(node_.Json(R"({"count": "c"})"), R"({"n":1,"ok":1.0})");

  node_.Run(kLock, "admin");
  outcome = Send(client_, R"({"insert": "c", "documents": [{"_id": 2}], "maxTimeMS": 1})");
  ASSERT_NE(outcome.parked, nullptr);
  while (std::chrono::steady_clock::now() < outcome.parked->until()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  outcome = Resume(std::move(outcome));
  EXPECT_EQ(outcome.parked, nullptr);
  EXPECT_EQ(Reply()["code"].AsInt32(), kMaxTimeMSExpired);
}

TEST_F(ParkingTest, AWriteWhoseReplyIsHeldIsDoneOnce) {
  node_.commands().fail_points().Enable(true);
  auto set = [&](std::string_view mode) {
    return node_.Code(R"({"configureFailPoint": "hangBeforeWaitingForWriteConcern", "mode": ")" +
                          std::string(mode) + R"("})",
                      "admin");
  };
  ASSERT_EQ(set("alwaysOn"), 0);
  request::Outcome outcome = Send(client_, R"({"insert": "c", "documents": [{"a": 1}]})");
  ASSERT_NE(outcome.parked, nullptr);
  EXPECT_EQ(node_.Json(R"({"count": "c"})"), R"({"n":1,"ok":1.0})") << "it is written";
  ASSERT_EQ(set("off"), 0);
  EXPECT_EQ(wakes_, 1);
  outcome = Resume(std::move(outcome));
  EXPECT_EQ(outcome.parked, nullptr);
  EXPECT_EQ(Reply()["n"].AsInt32(), 1);
  EXPECT_EQ(Reply()["ok"].AsDouble(), 1);
  EXPECT_EQ(node_.Json(R"({"count": "c"})"), R"({"n":1,"ok":1.0})");
}

}  // namespace
}  // namespace quire::command
