// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "command/repl/testing/member.h"

namespace quire::command {
namespace {

using engine::MemberState;
using engine::SetStatus;

constexpr std::string_view kInsert =
    R"({"insert": "c", "documents": [{}], "writeConcern": {"w": 1}})";
constexpr std::string_view kSession =
    R"("lsid": {"id": {"$binary": {"base64": "AAAAAAAAAAAAAAAAAAAAAA==", "subType": "04"}}},
       "txnNumber": {"$numberLong": "1"})";

std::string InSession(std::string_view command) {
  return "{" + std::string(command) + ", " + std::string(kSession) + "}";
}

class MemberGateTest : public SetMemberTest {
 protected:
  std::string Error(std::string_view json, std::string_view database = "test") {
    const bson::Document reply = Run(json, database);
    EXPECT_FALSE(reply["errmsg"].missing()) << bson::ToJson(reply);
    EXPECT_FALSE(reply["topologyVersion"].missing()) << bson::ToJson(reply);
    return reply["errmsg"].missing() ? "" : std::string(reply["errmsg"].AsString());
  }
};

TEST_F(MemberGateTest, SecondaryRefusesWrites) {
  set_.Follow(2);
  EXPECT_EQ(Error(kInsert), "not primary");
  EXPECT_EQ(Code(kInsert), kNotWritablePrimary);
  EXPECT_EQ(Code(R"({"create": "d", "$readPreference": {"mode": "secondary"}})"),
            kNotWritablePrimary);
  EXPECT_EQ(
      Code(R"({"setDefaultRWConcern": 1, "defaultReadConcern": {"level": "local"}})", "admin"),
      kNotWritablePrimary);
  EXPECT_EQ(Code(R"({"appendOplogNote": 1, "data": {}})", "admin"), kNotWritablePrimary);
}

TEST_F(MemberGateTest, EachMemberWritesItsOwnDatabase) {
  set_.Follow(2);
  EXPECT_EQ(Code(kInsert, "local"), 0);
  EXPECT_EQ(Code(R"({"find": "c"})", "local"), 0);
}

TEST_F(MemberGateTest, SecondaryAsksForAReadPreference) {
  set_.Follow(2);
  EXPECT_EQ(Error(R"({"find": "c"})"), "not primary and secondaryOk=false");
  EXPECT_EQ(Code(R"({"find": "c"})"), kNotPrimaryNoSecondaryOk);
  EXPECT_EQ(Code(R"({"aggregate": "c", "pipeline": [], "cursor": {},
                     "$readPreference": {"mode": "primary"}})"),
            kNotPrimaryNoSecondaryOk);
  for (const char* mode : {"primaryPreferred", "secondary", "secondaryPreferred", "nearest"}) {
    EXPECT_EQ(Code(R"({"find": "c", "$readPreference": {"mode": ")" + std::string(mode) + "\"}}"),
              0);
  }
  EXPECT_EQ(Code(R"({"find": "c", "$readPreference": {"mode": "any"}})"), kFailedToParse);
}

TEST_F(MemberGateTest, SomeRunOnEveryMember) {
  set_.Follow(2);
  for (const char* json : {R"({"dbHash": 1})", R"({"ping": 1})", R"({"profile": -1})"}) {
    EXPECT_EQ(Code(json), 0) << json;
  }
  EXPECT_EQ(Code(R"({"getDefaultRWConcern": 1})", "admin"), 0);
  EXPECT_EQ(Code(R"({"getMore": {"$numberLong": "5"}, "collection": "c"})"), kCursorNotFound);
}

TEST_F(MemberGateTest, CursorSurvivesAStepDown) {
  set_.Lead(2);
  EXPECT_EQ(Code(R"({"insert": "c", "documents": [{}, {}, {}], "writeConcern": {"w": 1}})"), 0);
  const bson::Document first = Run(R"({"find": "c", "batchSize": 2})");
  set_.Follow(3);
  node_.commands().RoleChanged();
  const int64_t cursor = first["cursor"].AsDocument()["id"].AsInt64();
  EXPECT_EQ(Code(R"({"getMore": {"$numberLong": ")" + std::to_string(cursor) +
                 R"("}, "collection": "c"})"),
            0);
}

TEST_F(MemberGateTest, RecoveringMemberRefusesReads) {
  set_.Follow(2);
  constexpr std::string_view kRead = R"({"find": "c", "$readPreference": {"mode": "secondary"}})";
  for (auto [state, text] :
       {std::pair(MemberState::kRecovering, "node is recovering"),
        std::pair(MemberState::kRollback, "node is recovering"),
        std::pair(MemberState::kStartup, "node is not in primary or recovering state")}) {
    set_.Set([state = state](SetStatus& status) { status.state = state; });
    EXPECT_EQ(Error(kRead), text);
    EXPECT_EQ(Code(kRead), kNotPrimaryOrSecondary);
    EXPECT_EQ(Code(kInsert), kNotWritablePrimary);
    EXPECT_EQ(Code(R"({"replSetGetConfig": 1})", "admin"), 0);
  }
}

TEST_F(MemberGateTest, LabelsSayWhatMayBeTriedAgain) {
  set_.Follow(2);
  EXPECT_EQ(Labels(Run(kInsert)), "");
  EXPECT_EQ(Labels(Run(InSession(R"("insert": "c", "documents": [{}])"))),
            R"(["RetryableWriteError","NoWritesPerformed"])");
  EXPECT_EQ(
      Labels(Run(InSession(
          R"("insert": "c", "documents": [{}], "startTransaction": true, "autocommit": false)"))),
      R"(["TransientTransactionError"])");
  EXPECT_EQ(Labels(Run(InSession(R"("commitTransaction": 1, "autocommit": false)"), "admin")),
            R"(["RetryableWriteError","NoWritesPerformed"])");
  EXPECT_EQ(Labels(Run(R"({"aggregate": "c", "pipeline": [{"$changeStream": {}}], "cursor": {}})")),
            R"(["ResumableChangeStreamError"])");
}

TEST_F(MemberGateTest, TransactionReadsOnlyOnThePrimary) {
  set_.Follow(2);
  const bson::Document reply = Run(InSession(
      R"("find": "c", "startTransaction": true, "autocommit": false,
         "$readPreference": {"mode": "secondary"})"));
  EXPECT_EQ(reply["code"].AsInt32(), kNotWritablePrimary);
}

TEST_F(MemberGateTest, WritesWaitWhileAStepDownDecidesItself) {
  set_.Lead(2);
  set_.Pause(true);
  Sent insert = Send(kInsert);
  ASSERT_TRUE(insert.parked());
  EXPECT_EQ(Code(R"({"find": "c"})"), 0);
  set_.Pause(false);
  EXPECT_TRUE(insert.woken());
  insert.Resume();
  EXPECT_EQ(insert.reply()["n"].AsInt32(), 1);
  set_.Pause(true);
  insert = Send(kInsert);
  set_.Follow(3);
  set_.Pause(false);
  insert.Resume();
  EXPECT_EQ(insert.reply()["code"].AsInt32(), kNotWritablePrimary);
}

TEST_F(MemberGateTest, PausedWriteIsEndedByTheRoleChange) {
  set_.Lead(2);
  set_.Pause(true);
  Sent insert = Send(kInsert);
  node_.commands().RoleChanged();
  EXPECT_TRUE(insert.woken());
  insert.Resume();
  EXPECT_EQ(insert.reply()["code"].AsInt32(), kInterruptedDueToReplStateChange);
}

TEST_F(MemberGateTest, RoleChangeAbortsTransactionsAndForgetsSessions) {
  set_.Lead(2);
  EXPECT_EQ(Code(R"({"create": "c", "writeConcern": {"w": 1}})"), 0);
  EXPECT_EQ(
      Code(InSession(
          R"("insert": "c", "documents": [{}], "startTransaction": true, "autocommit": false)")),
      0);
  node_.commands().RoleChanged();
  const bson::Document reply =
      Run(InSession(R"("insert": "c", "documents": [{}], "autocommit": false)"));
  EXPECT_EQ(reply["code"].AsInt32(), kNoSuchTransaction);
  EXPECT_EQ(Labels(reply), R"(["TransientTransactionError"])");
}

TEST_F(MemberGateTest, ConfigurationIsShownInLocal) {
  set_.Follow(2);
  node_.commands().ConfigurationChanged();
  const bson::Document reply = Run(R"({"find": "system.replset"})", "local");
  const bson::View first =
      reply["cursor"].AsDocument()["firstBatch"].AsArray().front().value().AsDocument();
  EXPECT_EQ(first["version"].AsInt32(), 4);
  EXPECT_EQ(Code(R"({"drop": "system.replset"})", "local"), kIllegalOperation);
}

}  // namespace
}  // namespace quire::command
