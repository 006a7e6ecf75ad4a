// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "command/repl/testing/member.h"
#include "quire/doc.h"

namespace quire::command {
namespace {

using engine::MemberState;
using engine::MemberStatus;
using engine::SetStatus;

class ReplCommandsTest : public SetMemberTest {
 protected:
  bson::Document Admin(std::string_view json) { return Run(json, "admin"); }
  std::string AdminError(std::string_view json) {
    const bson::Document reply = Admin(json);
    return reply["errmsg"].missing() ? ""
                                     : std::to_string(reply["code"].AsInt32()) + " " +
                                           std::string(reply["errmsg"].AsString());
  }
  int AdminCode(std::string_view json) { return Code(json, "admin"); }
  // The present configuration with its version raised, members replaced.
  int Reconfig(std::string_view members, int version = 5) {
    return AdminCode(R"({"replSetReconfig": {"_id": "s0", "version": )" + std::to_string(version) +
                     R"(, "members": )" + std::string(members) + "}}");
  }
};

TEST_F(ReplCommandsTest, NothingBeforeItIsInitiated) {
  EXPECT_EQ(AdminError(R"({"replSetGetStatus": 1})"), "94 no replset config has been received");
  const bson::Document status = Admin(R"({"replSetGetStatus": 1})");
  EXPECT_EQ(status["info"].AsString(), "run rs.initiate(...) if not yet done for the set");
  for (const char* json : {R"({"replSetGetConfig": 1})", R"({"replSetReconfig": {}})",
                           R"({"replSetStepDown": 1})", R"({"replSetFreeze": 1})",
                           R"({"replSetMaintenance": 1})", R"({"replSetSyncFrom": "n2:2"})"}) {
    EXPECT_EQ(AdminCode(json), kNotYetInitialized) << json;
  }
}

TEST_F(ReplCommandsTest, InitiateWithoutAConfiguration) {
  node_.commands().info().host = "n1:1";
  const bson::Document reply = Admin(R"({"replSetInitiate": {}})");
  EXPECT_EQ(reply["ok"].AsDouble(), 1);
  EXPECT_EQ(reply["me"].AsString(), "n1:1");
  EXPECT_FALSE(reply["info2"].missing());
  EXPECT_NE(set_.asked().find(R"("_id":"s0","version":1)"), std::string::npos) << set_.asked();
  EXPECT_NE(set_.asked().find(R"("host":"n1:1")"), std::string::npos);
  EXPECT_NE(set_.asked().find("replicaSetId"), std::string::npos);
}

TEST_F(ReplCommandsTest, InitiateChecks) {
  node_.commands().info().host = "n1:1";
  EXPECT_EQ(AdminCode(R"({"replSetInitiate": {"_id": "other",
                          "members": [{"_id": 0, "host": "n1:1"}]}})"),
            kInvalidReplicaSetConfig);
  EXPECT_EQ(AdminCode(R"({"replSetInitiate": {"_id": "s0", "members": []}})"),
            kInvalidReplicaSetConfig);
  EXPECT_EQ(AdminCode(R"({"replSetInitiate": {"_id": "s0",
                          "members": [{"_id": 0, "host": "localhost:1"}]}})"),
            0);
  EXPECT_NE(set_.asked().find(R"("_id":"s0","version":1)"), std::string::npos) << set_.asked();
  set_.Lead(1);
  EXPECT_EQ(AdminError(R"({"replSetInitiate": {}})"), "23 already initialized");
  EXPECT_EQ(AdminCode(R"({"replSetInitiate": 5})"), kAlreadyInitialized);
}

TEST_F(ReplCommandsTest, GetConfig) {
  set_.Lead(2);
  const bson::Document reply = Admin(R"({"replSetGetConfig": 1, "commitmentStatus": true})");
  EXPECT_EQ(reply["config"].AsDocument()["version"].AsInt32(), 4);
  EXPECT_TRUE(reply["commitmentStatus"].AsBool());
  EXPECT_EQ(AdminError(R"({"replSetGetConfig": 1, "commitmentStatus": "yes"})"),
            "14 Expected boolean or number type for field \"commitmentStatus\", found string");
  set_.Follow(3);
  EXPECT_EQ(AdminCode(R"({"replSetGetConfig": 1})"), 0);
  EXPECT_EQ(AdminCode(R"({"replSetGetConfig": 1, "commitmentStatus": true})"), kNotWritablePrimary);
}

TEST_F(ReplCommandsTest, ReconfigReadsItsArgument) {
  set_.Lead(2);
  constexpr std::string_view kOthers =
      R"([{"_id": 0, "host": "n1:1"}, {"_id": 1, "host": "n2:2"},)";
  for (const char* third :
       {R"({"_id": -1, "host": "n3:3"}])", R"({"_id": "x", "host": "n3:3"}])",
        R"({"host": "n3:3"}])", R"({"_id": 2}])", R"({"_id": 2, "host": ""}])",
        R"({"_id": 2, "host": 5}])", R"("x"])", R"({"_id": 2, "host": "n3:3", "priority": -1}])",
        R"({"_id": 2, "host": "n3:3", "priority": 1001}])",
        R"({"_id": 2, "host": "n3:3", "priority": "x"}])",
        R"({"_id": 2, "host": "n3:3", "votes": 2}])", R"({"_id": 2, "host": "n3:3", "votes": 0}])",
        R"({"_id": 2, "host": "n3:3", "hidden": true}])",
        R"({"_id": 2, "host": "n3:3", "buildIndexes": false}])",
        R"({"_id": 2, "host": "n3:3", "tags": 5}])",
        R"({"_id": 2, "host": "n3:3", "tags": {"a": 5}}])",
        R"({"_id": 2, "host": "n3:3", "bogus": 1}])"}) {
    EXPECT_EQ(Reconfig(std::string(kOthers) + third), kInvalidReplicaSetConfig) << third;
  }
  EXPECT_EQ(Reconfig("5"), kInvalidReplicaSetConfig);
  EXPECT_EQ(AdminCode(R"({"replSetReconfig": {"_id": "s0", "version": 5}})"),
            kInvalidReplicaSetConfig);
  EXPECT_EQ(AdminCode(R"({"replSetReconfig": {"_id": "s0", "version": "x", "members": []}})"),
            kInvalidReplicaSetConfig);
  EXPECT_EQ(AdminCode(R"({"replSetReconfig": {"_id": "s0", "members": []}})"),
            kInvalidReplicaSetConfig);
  EXPECT_EQ(AdminCode(R"({"replSetReconfig": 5})"), kTypeMismatch);
}

TEST_F(ReplCommandsTest, ReconfigFollowsThePresentConfiguration) {
  set_.Lead(2);
  constexpr std::string_view kAll =
      R"([{"_id": 0, "host": "n1:1"}, {"_id": 1, "host": "n2:2"}, {"_id": 2, "host": "n3:3"}])";
  const int incompatible = kNewReplicaSetConfigurationIncompatible;
  EXPECT_EQ(Reconfig(kAll, 4), incompatible);
  EXPECT_EQ(Reconfig("[]"), incompatible);
  EXPECT_EQ(Reconfig(R"([{"_id": 0, "host": "n1:1"}, {"_id": 0, "host": "n2:2"}])"), incompatible);
  EXPECT_EQ(Reconfig(R"([{"_id": 0, "host": "n1:1"}, {"_id": 1, "host": "n1:1"},
                         {"_id": 2, "host": "n3:3"}])"),
            incompatible);
  EXPECT_EQ(Reconfig(R"([{"_id": 0, "host": "n1:1"}])"), incompatible);
  EXPECT_EQ(Reconfig(R"([{"_id": 0, "host": "n1:1"}, {"_id": 1, "host": "n2:2"},
                         {"_id": 2, "host": "n3:3", "arbiterOnly": true}])"),
            incompatible);
  EXPECT_EQ(Reconfig(kAll), 0);
  EXPECT_EQ(set_.asked().find("reconfigure"), 0U);
  EXPECT_NE(set_.asked().find("0123456789abcdef01234567"), std::string::npos);
  EXPECT_EQ(Reconfig(R"([{"_id": 0, "host": "n1:1"}, {"_id": 1, "host": "n2:2"}])"), 0);
}

TEST_F(ReplCommandsTest, ForcedReconfigOfASurvivor) {
  set_.Follow(2);
  EXPECT_EQ(Reconfig(R"([{"_id": 0, "host": "n1:1"}])"), kNotWritablePrimary);
  EXPECT_EQ(AdminCode(R"({"replSetReconfig": {"_id": "s0", "version": 2,
                          "members": [{"_id": 0, "host": "n1:1"}]}, "force": true})"),
            0);
  EXPECT_EQ(set_.asked().find("force "), 0U);
  EXPECT_NE(set_.asked().find(R"("version":5)"), std::string::npos) << set_.asked();
}

TEST_F(ReplCommandsTest, WriteModesNeedTheTagsOfMembers) {
  set_.Lead(2);
  const std::string members =
      R"("members": [{"_id": 0, "host": "n1:1", "tags": {"dc": "a"}},
                     {"_id": 1, "host": "n2:2", "tags": {"dc": "b"}}, {"_id": 2, "host": "n3:3"}])";
  auto with_mode = [&](int count) {
    return R"({"replSetReconfig": {"_id": "s0", "version": 5, )" + members +
           R"(, "settings": {"getLastErrorModes": {"far": {"dc": )" + std::to_string(count) +
           "}}}}}";
  };
  EXPECT_EQ(AdminCode(with_mode(2)), 0);
  EXPECT_EQ(AdminCode(with_mode(3)), kNewReplicaSetConfigurationIncompatible);
}

TEST_F(ReplCommandsTest, StepDown) {
  set_.Lead(2);
  EXPECT_EQ(AdminError(R"({"replSetStepDown": -1})"),
            "2 stepdown period must be a positive integer");
  EXPECT_EQ(AdminError(R"({"replSetStepDown": 10, "secondaryCatchUpPeriodSecs": 20})"),
            "2 stepdown period must be longer than secondaryCatchUpPeriodSecs");
  EXPECT_EQ(AdminError(R"({"replSetStepDown": 10, "secondaryCatchUpPeriodSecs": -1})"),
            "2 secondaryCatchUpPeriodSecs period must be a positive or absent");
  Sent down = Send(R"({"replSetStepDown": 30, "force": true})", "admin");
  ASSERT_TRUE(down.parked());
  EXPECT_EQ(set_.asked(), "step down 30000 0 force");
  node_.commands().RoleChanged();
  set_.Answer(Status::Ok());
  down.Resume();
  EXPECT_EQ(down.reply()["ok"].AsDouble(), 1);
  down = Send(R"({"replSetStepDown": 5})", "admin");
  EXPECT_EQ(set_.asked(), "step down 5000 5000");
  set_.Answer({kExceededTimeLimit, "No electable secondaries caught up"});
  down.Resume();
  EXPECT_EQ(down.reply()["code"].AsInt32(), kExceededTimeLimit);
  set_.Follow(3);
  EXPECT_EQ(AdminCode(R"({"replSetStepDown": 5})"), kNotWritablePrimary);
}

TEST_F(ReplCommandsTest, FreezeAndMaintenanceAreForSecondaries) {
  set_.Lead(2);
  EXPECT_EQ(AdminCode(R"({"replSetFreeze": 10})"), kNotSecondary);
  EXPECT_EQ(AdminError(R"({"replSetMaintenance": true})"),
            "95 primaries can't modify maintenance mode");
  set_.Follow(3);
  EXPECT_EQ(AdminCode(R"({"replSetFreeze": 10})"), 0);
  EXPECT_EQ(set_.asked(), "freeze 10000");
  const bson::Document unfrozen = Admin(R"({"replSetFreeze": 0})");
  EXPECT_EQ(unfrozen["info"].AsString(), "unfreezing");
  const bson::Document at_once = Admin(R"({"replSetFreeze": "soon"})");
  EXPECT_EQ(at_once["info"].AsString(), "unfreezing");
  set_.Follow(3);
  EXPECT_EQ(AdminCode(R"({"replSetFreeze": -1})"), 0);
  EXPECT_EQ(AdminCode(R"({"replSetMaintenance": true})"), 0);
  EXPECT_EQ(AdminCode(R"({"replSetMaintenance": false})"), kOperationFailed);
}

TEST_F(ReplCommandsTest, SyncFrom) {
  auto see = [&](int id, uint64_t applied_seconds) {
    set_.Set([&](SetStatus& status) {
      status.applied.time = uint64_t{100} << 32;
      MemberStatus member;
      member.id = id;
      member.healthy = true;
      member.applied.time = applied_seconds << 32;
      status.members.push_back(member);
    });
  };
  set_.Lead(2);
  EXPECT_EQ(AdminError(R"({"replSetSyncFrom": "n2:2"})"), "95 primaries don't sync");
  set_.Follow(3);
  see(1, 100);
  EXPECT_EQ(AdminError(R"({"replSetSyncFrom": "none:1"})"),
            "74 Could not find member \"none:1\" in replica set");
  EXPECT_EQ(AdminError(R"({"replSetSyncFrom": "n1:1"})"), "72 I cannot sync from myself");
  EXPECT_EQ(AdminCode(R"({"replSetSyncFrom": ""})"), kFailedToParse);
  EXPECT_EQ(AdminCode(R"({"replSetSyncFrom": 5})"), kFailedToParse);
  EXPECT_EQ(AdminError(R"({"replSetSyncFrom": "n3:3"})"),
            "6 I cannot reach the requested member: n3:3");
  const bson::Document followed = Admin(R"({"replSetSyncFrom": "n2:2"})");
  EXPECT_EQ(followed["syncFromRequested"].AsString(), "n2:2");
  EXPECT_EQ(followed["prevSyncTarget"].AsString(), "n2:2");
  EXPECT_TRUE(followed["warning"].missing());
  see(2, 90);
  const bson::Document other = Admin(R"({"replSetSyncFrom": "n3:3"})");
  EXPECT_EQ(other["warning"].AsString(),
            "members follow the primary, whatever source is asked for");
  set_.Set([](SetStatus& status) { status.primary = -1; });
  set_.Set([](SetStatus& status) { status.applied.time = uint64_t{101} << 32; });
  const bson::Document late = Admin(R"({"replSetSyncFrom": "n3:3"})");
  EXPECT_EQ(late["warning"].AsString(),
            "requested member \"n3:3\" is more than 10 seconds behind us");
  EXPECT_TRUE(late["prevSyncTarget"].missing());
}

TEST_F(ReplCommandsTest, SyncFromAMemberWithLess) {
  set_.Follow(3);
  auto without = [&](std::string_view name, const bson::Document& fields) {
    set_.Set([&](SetStatus& status) {
      bson::Builder config;
      config.Append("_id", "s0").BeginArray("members");
      config.Push(Doc("_id", 0, "host", "n1:1", "votes", 1, "buildIndexes", true));
      bson::Builder other;
      other.Append("_id", 1).Append("host", "n2:2").AppendFields(fields);
      config.Push(other.Finish()).End();
      status.config = config.Finish();
    });
    EXPECT_EQ(AdminError(R"({"replSetSyncFrom": "n2:2"})"),
              "72 Cannot sync from \"n2:2\" because it " + std::string(name));
  };
  without("is not a voter", Doc("votes", 0));
  without("does not build indexes", Doc("votes", 1, "buildIndexes", false));
  set_.Set([](SetStatus& status) { status.self = -1; });
  EXPECT_EQ(AdminError(R"({"replSetSyncFrom": "n2:2"})"),
            "95 Removed and uninitialized nodes do not sync");
}

// tests/cluster/sink_test.py has what it does at real members.
TEST_F(ReplCommandsTest, ASecondaryLetsThePrimaryWriteWhatItHasRead) {
  set_.Lead(2);
  ASSERT_EQ(Code(R"({"insert": "c", "documents": [{"_id": 1}], "writeConcern": {"w": 1}})"), 0);
  set_.Follow(3);
  constexpr const char* kMerge =
      R"({"aggregate": "c", "pipeline": [{"$merge": "d"}], "cursor": {}, "let": {"a": 1},
          "writeConcern": {"w": 2}, "$readPreference": {"mode": "secondary"}})";
  EXPECT_EQ(Code(kMerge), kPrimarySteppedDown) << "no primary";
  EXPECT_EQ(set_.asked(),
            R"({"aggregate":1,"pipeline":[{"$documents":{"$literal":[{"_id":1}]}},{"$merge":"d"}],)"
            R"("cursor":{},"let":{"a":1},"writeConcern":{"w":2},"$db":"test"})");
  set_.SetPrimaryReply(Doc("ok", 1.0, "operationTime", bson::Timestamp{2'000'000'000, 7},
                           "writeConcernError", Doc("code", 64)));
  const bson::Document reply = Run(kMerge);
  EXPECT_EQ(bson::ToJson(reply["cursor"].AsDocument()),
            R"({"firstBatch":[],"id":0,"ns":"test.c"})");
  EXPECT_EQ(reply["writeConcernError"].AsDocument()["code"].AsInt32(), 64);
  EXPECT_GE(node_.engine().clock().Now(), (bson::Timestamp{2'000'000'000, 7}));
  set_.SetPrimaryReply(Doc("ok", 0.0, "code", kDuplicateKey, "errmsg", "there is one"));
  EXPECT_EQ(Code(kMerge), kDuplicateKey);
  EXPECT_EQ(Code(R"({"aggregate": "c", "pipeline": [{"$merge": "d"}], "cursor": {}})"),
            kNotPrimaryNoSecondaryOk);
  EXPECT_EQ(Code(R"({"aggregate": "c", "pipeline": [{"$out": "d"}, {"$limit": 1}], "cursor": {},
                     "$readPreference": {"mode": "secondary"}})"),
            40601);
}

TEST_F(ReplCommandsTest, TheRollbackIdIsTheMembers) {
  auto told = [&] {
    const bson::Document reply = Admin(R"({"replSetGetRBID": 1})");
    return reply["rbid"].AsInt32();
  };
  EXPECT_EQ(told(), 1);
  set_.Follow(3);
  set_.Set([](SetStatus& status) { status.rollback_id = 7; });
  EXPECT_EQ(told(), 7);
  EXPECT_EQ(Code(R"({"replSetGetRBID": 1})", "test"), kUnauthorized);
}

TEST_F(ReplCommandsTest, BoundsOfTheLog) {
  set_.Lead(2);
  EXPECT_EQ(AdminCode(R"({"replSetResizeOplog": 1, "size": 1.0})"), 51024);
  EXPECT_EQ(AdminCode(R"({"replSetResizeOplog": 1, "size": "x"})"), kTypeMismatch);
  EXPECT_EQ(AdminCode(R"({"replSetResizeOplog": 1, "minRetentionHours": -1})"), 51024);
  EXPECT_EQ(AdminCode(R"({"replSetResizeOplog": 1, "size": 2000, "minRetentionHours": 48})"), 0);
  EXPECT_EQ(node_.engine().log_bytes.load(), uint64_t{2000} << 20);
  EXPECT_EQ(node_.engine().log_hours.load(), 48);
}

TEST_F(ReplCommandsTest, OplogNotes) {
  set_.Lead(2);
  EXPECT_EQ(AdminCode(R"({"appendOplogNote": 1, "data": {"a": 1}, "writeConcern": {"w": 1}})"), 0);
  EXPECT_EQ(AdminCode(R"({"appendOplogNote": 1, "writeConcern": {"w": 1}})"), kNoSuchKey);
  EXPECT_EQ(AdminCode(R"({"appendOplogNote": 1, "data": 5, "writeConcern": {"w": 1}})"),
            kTypeMismatch);
  EXPECT_EQ(AdminError(R"({"replSetAbortPrimaryCatchUp": 1})"),
            "20 The node is not in catch-up mode.");
}

TEST_F(ReplCommandsTest, MessageIsAnsweredByTheReplication) {
  Sent message =
      Send(R"({"replSetMessage": 1, "set": "s0", "from": 1, "message": {"a": 1}})", "admin");
  ASSERT_TRUE(message.parked());
  set_.Answer(Status::Ok());
  message.Resume();
  EXPECT_EQ(bson::ToJson(message.reply()), R"({"heard":{"a":1},"ok":1.0})");
}

TEST_F(ReplCommandsTest, StatusOfAPrimary) {
  set_.Lead(7);
  set_.Set([](SetStatus& status) {
    status.commit = {7, uint64_t{100} << 32};
    status.election = {7, uint64_t{98} << 32};
    status.seen_at_election = {6, uint64_t{97} << 32};
    status.applied_at_election = {0, uint64_t{95} << 32};
    status.committed_at_election = {6, uint64_t{96} << 32};
    MemberStatus self;
    self.id = 0;
    self.self = true;
    MemberStatus other;
    other.id = 1;
    other.state = MemberState::kSecondary;
    other.healthy = true;
    other.applied = {7, uint64_t{99} << 32};
    other.config_version = 4;
    status.members = {self, other};
  });
  const bson::Document reply = Admin(R"({"replSetGetStatus": 1})");
  EXPECT_EQ(reply["set"].AsString(), "s0");
  EXPECT_EQ(reply["myState"].AsInt32(), 1);
  EXPECT_EQ(reply["term"].AsInt64(), 7);
  EXPECT_EQ(reply["syncSourceHost"].AsString(), "");
  EXPECT_EQ(reply["majorityVoteCount"].AsInt32(), 2);
  EXPECT_EQ(reply["votingMembersCount"].AsInt32(), 3);
  const bson::View election = reply["electionCandidateMetrics"].AsDocument();
  EXPECT_EQ(bson::ToJson(election["lastSeenOpTimeAtElection"].AsDocument()),
            R"({"ts":{"$timestamp":{"t":95,"i":0}},"t":-1})")
      << "before the first term";
  EXPECT_EQ(bson::ToJson(election["lastSeenWrittenOpTimeAtElection"].AsDocument()),
            R"({"ts":{"$timestamp":{"t":97,"i":0}},"t":6})");
  EXPECT_EQ(bson::ToJson(election["lastCommittedOpTimeAtElection"].AsDocument()),
            R"({"ts":{"$timestamp":{"t":96,"i":0}},"t":6})");
  EXPECT_EQ(reply["members"].AsArray()["0"].AsDocument()["electionDate"].AsDate().millis, 98'000);
  std::vector<std::string> shown;
  for (const bson::Element& e : reply["members"].AsArray()) {
    const bson::View member = e.value().AsDocument();
    shown.push_back(std::string(member["name"].AsString()) + " " +
                    std::string(member["stateStr"].AsString()) + " " +
                    bson::ToJson(member["health"]) + " " +
                    std::string(member["syncSourceHost"].AsString()) +
                    (member["self"].missing() ? "" : " self"));
  }
  EXPECT_EQ(shown, (std::vector<std::string>{"n1:1 PRIMARY 1.0  self", "n2:2 SECONDARY 1.0 n1:1",
                                             "n3:3 (not reachable/healthy) 0.0 "}));
}

TEST_F(ReplCommandsTest, StatusOfASecondary) {
  set_.Follow(7);
  set_.Set([](SetStatus& status) {
    MemberStatus self;
    self.id = 0;
    self.self = true;
    status.members = {self};
  });
  const bson::Document reply = Admin(R"({"replSetGetStatus": 1})");
  EXPECT_EQ(reply["myState"].AsInt32(), 2);
  EXPECT_EQ(reply["syncSourceHost"].AsString(), "n2:2");
  EXPECT_TRUE(reply["electionParticipantMetrics"].missing())
      << "the term is older than the process";
  EXPECT_TRUE(reply["electionCandidateMetrics"].missing());
  set_.Set([](SetStatus& status) {
    status.election_wall_millis = 99'000;
    status.seen_at_election = {6, uint64_t{97} << 32};
    status.applied_at_election = {6, uint64_t{95} << 32};
    status.committed_at_election = {6, uint64_t{96} << 32};
  });
  const bson::Document voted = Admin(R"({"replSetGetStatus": 1})");
  EXPECT_EQ(
      bson::ToJson(voted["electionParticipantMetrics"].AsDocument()),
      R"({"votedForCandidate":true,"electionTerm":7,"lastVoteDate":{"$date":"1970-01-01T00:01:39Z"},)"
      R"("electionCandidateMemberId":1,"voteReason":"",)"
      R"("lastWrittenOpTimeAtElection":{"ts":{"$timestamp":{"t":97,"i":0}},"t":6},)"
      R"("maxWrittenOpTimeInSet":{"ts":{"$timestamp":{"t":97,"i":0}},"t":6},)"
      R"("lastAppliedOpTimeAtElection":{"ts":{"$timestamp":{"t":95,"i":0}},"t":6},)"
      R"("maxAppliedOpTimeInSet":{"ts":{"$timestamp":{"t":96,"i":0}},"t":6},"priorityAtElection":1.0})");
}

}  // namespace
}  // namespace quire::command
