// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <thread>

#include "command/repl/testing/member.h"

namespace quire::command {
namespace {

using engine::SetStatus;

class ConcernsTest : public SetMemberTest {
 protected:
  ConcernsTest() { set_.Lead(2); }

  static std::string Insert(std::string_view concern) {
    return R"({"insert": "c", "documents": [{}], "writeConcern": )" + std::string(concern) + "}";
  }
  // Everything that was written is committed.
  void CommitAll() {
    const engine::LogPosition last = set_.data().LastSlot();
    set_.Set([&](SetStatus& status) { status.commit = last; });
  }
};

TEST_F(ConcernsTest, OneIsAnsweredAtOnce) {
  for (const char* concern : {R"({"w": 1})", R"({"w": 1, "j": true})", R"({"w": 0})"}) {
    Sent insert = Send(Insert(concern));
    EXPECT_FALSE(insert.parked()) << concern;
  }
}

TEST_F(ConcernsTest, OthersWaitForReplication) {
  for (auto [concern, asked] : {std::pair(R"({"w": 2})", "concern 2"),
                                std::pair(R"({"w": "majority"})", "concern \"majority\""),
                                std::pair(R"({"j": true})", "concern \"majority\"")}) {
    Sent insert = Send(Insert(concern));
    ASSERT_TRUE(insert.parked()) << concern;
    EXPECT_EQ(set_.asked(), asked);
    set_.Answer(Status::Ok());
    EXPECT_TRUE(insert.woken());
    insert.Resume();
    EXPECT_EQ(insert.reply()["n"].AsInt32(), 1);
    EXPECT_EQ(ConcernCode(insert.reply()), 0);
  }
}

TEST_F(ConcernsTest, DefaultIsMajorityOfSeveralVoters) {
  Sent insert = Send(R"({"insert": "c", "documents": [{}]})");
  ASSERT_TRUE(insert.parked());
  EXPECT_EQ(set_.asked(), "concern \"majority\"");
  const bson::Document defaults = Run(R"({"getDefaultRWConcern": 1})", "admin");
  EXPECT_EQ(bson::ToJson(defaults["defaultWriteConcern"]), R"({"w":"majority","wtimeout":0})");
  set_.Set([](SetStatus& status) {
    status.config = *bson::Document::FromJson(
        R"({"_id": "s0", "version": 5, "members": [{"_id": 0, "host": "n1:1"}]})");
  });
  EXPECT_EQ(Code(R"({"insert": "c", "documents": [{}]})"), 0);
}

TEST_F(ConcernsTest, GlobalDefaultCounts) {
  EXPECT_EQ(
      Code(
          R"({"setDefaultRWConcern": 1, "defaultWriteConcern": {"w": 4}, "writeConcern": {"w": 1}})",
          "admin"),
      kUnsatisfiableWriteConcern);
  EXPECT_EQ(Code(R"({"setDefaultRWConcern": 1, "defaultWriteConcern": {"w": 2, "wtimeout": 1},
                     "writeConcern": {"w": 1}})",
                 "admin"),
            0);
  Sent insert = Send(R"({"insert": "c", "documents": [{}]})");
  EXPECT_EQ(set_.asked(), "concern 2");
  set_.Answer({kWriteConcernFailed, "waiting for replication timed out"});
  insert.Resume();
  EXPECT_EQ(bson::ToJson(insert.reply()["writeConcernError"].AsDocument()["errInfo"]),
            R"({"wtimeout":true,"writeConcern":{"w":2,"wtimeout":1,)"
            R"("provenance":"customDefault"}})");
}

TEST_F(ConcernsTest, WhatCanNeverHoldIsSaid) {
  const bson::Document many = Run(Insert(R"({"w": 4, "wtimeout": 100})"));
  EXPECT_EQ(many["n"].AsInt32(), 1);
  EXPECT_EQ(ConcernCode(many), kUnsatisfiableWriteConcern);
  EXPECT_EQ(bson::ToJson(many["writeConcernError"].AsDocument()["errInfo"]),
            R"({"writeConcern":{"w":4,"wtimeout":100,"provenance":"clientSupplied"}})");
  EXPECT_EQ(ConcernCode(Run(Insert(R"({"w": "nomode"})"))), kUnknownReplWriteConcern);
}

TEST_F(ConcernsTest, TimeIsOver) {
  Sent insert = Send(Insert(R"({"w": 3, "wtimeout": 1})"));
  ASSERT_TRUE(insert.parked());
  std::this_thread::sleep_until(insert.until());
  insert.Resume();
  ASSERT_FALSE(insert.parked());
  EXPECT_EQ(insert.reply()["n"].AsInt32(), 1);
  EXPECT_EQ(ConcernCode(insert.reply()), kWriteConcernFailed);
  EXPECT_EQ(bson::ToJson(insert.reply()["writeConcernError"].AsDocument()["errInfo"]),
            R"({"wtimeout":true,"writeConcern":{"w":3,"wtimeout":1,)"
            R"("provenance":"clientSupplied"}})");
  EXPECT_EQ(set_.waiting(), 0U);
}

TEST_F(ConcernsTest, SteppedDownWhileWaiting) {
  Sent insert = Send(
      R"({"insert": "c", "documents": [{}],
          "lsid": {"id": {"$binary": {"base64": "AAAAAAAAAAAAAAAAAAAAAA==", "subType": "04"}}},
          "txnNumber": {"$numberLong": "1"}})");
  ASSERT_TRUE(insert.parked());
  node_.commands().RoleChanged();  // ends no reply that only waits
  EXPECT_FALSE(insert.woken());
  set_.Answer({kPrimarySteppedDown, "stepped down"});
  insert.Resume();
  EXPECT_EQ(insert.reply()["n"].AsInt32(), 1);
  EXPECT_EQ(ConcernCode(insert.reply()), kPrimarySteppedDown);
  EXPECT_EQ(Labels(insert.reply()), R"(["RetryableWriteError"])");
  EXPECT_FALSE(insert.reply()["topologyVersion"].missing());
}

TEST_F(ConcernsTest, AnotherEpochThanTheOneItWasLetPassIn) {
  set_.Pause(true);
  Sent insert = Send(Insert(R"({"w": "majority"})"));
  ASSERT_TRUE(insert.parked());
  set_.Pause(false);
  insert.Resume();
  ASSERT_TRUE(insert.parked());  // for its concern now
  set_.Answer({kPrimarySteppedDown, "stepped down"});
  insert.Resume();
  EXPECT_EQ(ConcernCode(insert.reply()), kPrimarySteppedDown);
}

TEST_F(ConcernsTest, WhatIsCommittedAlreadyDoesNotWait) {
  EXPECT_EQ(Code(R"({"insert": "c", "documents": [{"_id": 1}], "writeConcern": {"w": 1}})"), 0);
  CommitAll();
  const bson::Document reply =
      Run(R"({"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$set": {"_id": 1}}}],
              "writeConcern": {"w": "majority"}})");
  EXPECT_EQ(reply["nModified"].AsInt32(), 0);
}

TEST_F(ConcernsTest, CommandThatWroteNothingWaits) {
  Sent update = Send(R"({"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$set": {"a": 1}}}],
                         "writeConcern": {"w": "majority"}})");
  EXPECT_TRUE(update.parked());
}

TEST_F(ConcernsTest, FailedCommandWaitsAndTellsBoth) {
  EXPECT_EQ(Code(R"({"create": "d", "writeConcern": {"w": 1}})"), 0);
  Sent create = Send(R"({"create": "d", "capped": true, "size": 10, "writeConcern": {"w": 2}})");
  ASSERT_TRUE(create.parked());
  set_.Answer({kPrimarySteppedDown, "stepped down"});
  create.Resume();
  EXPECT_EQ(create.reply()["code"].AsInt32(), kNamespaceExists);
  EXPECT_EQ(ConcernCode(create.reply()), kPrimarySteppedDown);
}

TEST_F(ConcernsTest, StatementsOfATransactionDoNotWaitButItsEndDoes) {
  const std::string session =
      R"("lsid": {"id": {"$binary": {"base64": "AAAAAAAAAAAAAAAAAAAAAA==", "subType": "04"}}},
         "txnNumber": {"$numberLong": "1"}, "autocommit": false})";
  EXPECT_EQ(Code(R"({"create": "c", "writeConcern": {"w": 1}})"), 0);
  EXPECT_EQ(Code(R"({"insert": "c", "documents": [{}], "startTransaction": true, )" + session), 0);
  Sent commit =
      Send(R"({"commitTransaction": 1, "writeConcern": {"w": "majority"}, )" + session, "admin");
  ASSERT_TRUE(commit.parked());
  set_.Answer(Status::Ok());
  commit.Resume();
  EXPECT_EQ(commit.reply()["ok"].AsDouble(), 1);
}

TEST_F(ConcernsTest, KilledWhileWaiting) {
  Sent insert = Send(Insert(R"({"w": 2})"));
  ASSERT_TRUE(insert.parked());
  node_.commands().operations().KillAll(kInterrupted);
  EXPECT_TRUE(insert.woken());
  insert.Resume();
  EXPECT_EQ(ConcernCode(insert.reply()), kInterrupted);
}

TEST_F(ConcernsTest, ReadsDoNotWaitForWriteConcerns) {
  EXPECT_FALSE(Send(R"({"aggregate": "c", "pipeline": [], "cursor": {}})").parked());
  Sent out = Send(R"({"aggregate": "c", "pipeline": [{"$out": "d"}], "cursor": {}})");
  EXPECT_TRUE(out.parked());
}

TEST_F(ConcernsTest, LinearizableReadIsConfirmedBeforeItIsTold) {
  constexpr std::string_view kRead = R"({"find": "c", "readConcern": {"level": "linearizable"}})";
  Sent find = Send(kRead);
  ASSERT_TRUE(find.parked());
  EXPECT_EQ(set_.asked(), "linearizable");
  set_.Answer(Status::Ok());
  find.Resume();
  EXPECT_EQ(find.reply()["ok"].AsDouble(), 1);
  find = Send(kRead);
  set_.Answer({kNotWritablePrimary, "stepped down"});
  find.Resume();
  EXPECT_EQ(find.reply()["code"].AsInt32(), kNotWritablePrimary);
  set_.Follow(3);
  EXPECT_EQ(Code(R"({"find": "c", "readConcern": {"level": "linearizable"},
                     "$readPreference": {"mode": "secondary"}})"),
            kNotWritablePrimary);
}

TEST_F(ConcernsTest, EveryBatchOfALinearizableReadIsConfirmed) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(Code(R"({"insert": "c", "documents": [{}], "writeConcern": {"w": 1}})"), 0);
  }
  Sent find = Send(R"({"find": "c", "batchSize": 1, "readConcern": {"level": "linearizable"}})");
  set_.Answer(Status::Ok());
  find.Resume();
  const bson::Document first = find.reply();
  const int64_t id = first["cursor"].AsDocument()["id"].AsInt64();
  ASSERT_NE(id, 0);
  const std::string get_more = R"({"getMore": {"$numberLong": ")" + std::to_string(id) +
                               R"("}, "collection": "c", "batchSize": 1})";
  Sent more = Send(get_more);
  ASSERT_TRUE(more.parked());
  EXPECT_EQ(set_.asked(), "linearizable");
  set_.Answer(Status::Ok());
  more.Resume();
  EXPECT_EQ(more.reply()["cursor"].AsDocument()["nextBatch"].AsArray().Count(), 1U);
  more = Send(get_more);
  set_.Answer({kNotWritablePrimary, "stepped down"});
  more.Resume();
  EXPECT_EQ(more.reply()["code"].AsInt32(), kNotWritablePrimary);
}

TEST_F(ConcernsTest, MajorityReadSeesWhatWasThereWhenItCame) {
  EXPECT_EQ(Code(Insert(R"({"w": 1})")), 0);
  Sent find = Send(R"({"find": "c", "readConcern": {"level": "majority"}})");
  ASSERT_TRUE(find.parked());
  EXPECT_EQ(set_.asked(), "committed");
  EXPECT_EQ(Code(Insert(R"({"w": 1})")), 0);
  set_.Answer(Status::Ok());
  find.Resume();
  const bson::Document reply = find.reply();
  const bson::View cursor = reply["cursor"].AsDocument();
  EXPECT_EQ(cursor["firstBatch"].AsArray().Count(), 1U);
  EXPECT_TRUE(cursor["atClusterTime"].missing());
  CommitAll();
  EXPECT_FALSE(Send(R"({"find": "c", "readConcern": {"level": "majority"}})").parked());
  EXPECT_FALSE(Send(R"({"find": "c"})").parked());
}

TEST_F(ConcernsTest, MajorityReadOfAnEpochThatEndedBeginsAnew) {
  EXPECT_EQ(Code(Insert(R"({"w": 1})")), 0);
  Sent find = Send(R"({"find": "c", "readConcern": {"level": "majority"}})");
  ASSERT_TRUE(find.parked());
  EXPECT_EQ(Code(Insert(R"({"w": 1})")), 0);
  set_.Follow(3);  // with all of that committed
  set_.Answer(Status::Ok());
  find.Resume();
  ASSERT_FALSE(find.parked());
  const bson::Document reply = find.reply();
  EXPECT_EQ(reply["cursor"].AsDocument()["firstBatch"].AsArray().Count(), 2U);
}

TEST_F(ConcernsTest, FormerLeaderWaitsUntilItKnowsWhatIsCommitted) {
  set_.Follow(3);
  set_.Set([](SetStatus& status) { status.caught_up = false; });
  constexpr std::string_view kRead =
      R"({"find": "c", "readConcern": {"level": "majority"},
          "$readPreference": {"mode": "secondary"}})";
  Sent find = Send(kRead);
  ASSERT_TRUE(find.parked());
  EXPECT_EQ(set_.asked(), "committed");
  set_.Answer(Status::Ok());
  find.Resume();
  EXPECT_EQ(find.reply()["ok"].AsDouble(), 1);
  set_.Set([](SetStatus& status) { status.caught_up = true; });
  EXPECT_FALSE(Send(kRead).parked());
}

TEST_F(ConcernsTest, DefaultReadConcernCounts) {
  EXPECT_EQ(Code(R"({"setDefaultRWConcern": 1, "defaultReadConcern": {"level": "majority"},
                     "writeConcern": {"w": 1}})",
                 "admin"),
            0);
  EXPECT_TRUE(Send(R"({"find": "c"})").parked());
  EXPECT_FALSE(Send(R"({"find": "c", "readConcern": {"level": "local"}})").parked());
}

TEST_F(ConcernsTest, AfterClusterTimeIsWaitedFor) {
  EXPECT_EQ(Code(Insert(R"({"w": 1})")), 0);
  const bson::Document first = Run(R"({"find": "c"})");
  bson::Builder out;
  out.Append("find", "c")
      .BeginDocument("readConcern")
      .Append("afterClusterTime", first["operationTime"]);
  out.End();
  const bson::Document body = out.Finish();
  Sent find = Send(bson::ToJson(body));
  ASSERT_TRUE(find.parked());
  EXPECT_EQ(set_.asked(), "applied");
  set_.Answer(Status::Ok());
  find.Resume();
  const bson::Document reply = find.reply();
  EXPECT_EQ(reply["cursor"].AsDocument()["firstBatch"].AsArray().Count(), 1U);
}

TEST_F(ConcernsTest, WaitForATimeEndsWithTheOperation) {
  const bson::Document first = Run(R"({"find": "c"})");
  bson::Builder out;
  out.Append("find", "c")
      .Append("maxTimeMS", 1)
      .BeginDocument("readConcern")
      .Append("afterClusterTime", first["operationTime"]);
  out.End();
  const bson::Document body = out.Finish();
  Sent find = Send(bson::ToJson(body));
  if (find.parked()) {
    std::this_thread::sleep_until(find.until());
    find.Resume();
  }
  EXPECT_EQ(find.reply()["code"].AsInt32(), kMaxTimeMSExpired);
}

TEST_F(ConcernsTest, OperationTimeOfAReadIsTheLastSlot) {
  const engine::LogPosition last = set_.data().LastSlot();
  const bson::Document reply = Run(R"({"find": "c"})");
  const bson::Timestamp time = reply["operationTime"].AsTimestamp();
  EXPECT_EQ((static_cast<uint64_t>(time.seconds) << 32) | time.increment, last.time);
}

}  // namespace
}  // namespace quire::command
