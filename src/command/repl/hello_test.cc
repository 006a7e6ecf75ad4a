// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "command/repl/testing/member.h"

namespace quire::command {
namespace {

using engine::MemberState;
using engine::SetStatus;

class HelloTest : public SetMemberTest {
 protected:
  std::string Field(std::string_view name) {
    const bson::Document reply = Run(R"({"hello": 1})");
    return reply[name].missing() ? "missing" : bson::ToJson(reply[name]);
  }
  std::string Await(const bson::Document& last, int millis) {
    bson::Builder out;
    out.Append("hello", 1)
        .Append("topologyVersion", last["topologyVersion"])
        .Append("maxAwaitTimeMS", millis);
    const bson::Document body = out.Finish();
    return bson::ToJson(body);
  }
};

TEST_F(HelloTest, NotInitiated) {
  EXPECT_EQ(Field("isWritablePrimary"), "false");
  EXPECT_EQ(Field("secondary"), "false");
  EXPECT_EQ(Field("isreplicaset"), "true");
  EXPECT_EQ(Field("info"), "\"Does not have a valid replica set config\"");
  EXPECT_EQ(Field("setName"), "missing");
  EXPECT_EQ(Field("hosts"), "missing");
  EXPECT_NE(Field("topologyVersion"), "missing");
}

TEST_F(HelloTest, Primary) {
  set_.Lead(258);
  EXPECT_EQ(Field("isWritablePrimary"), "true");
  EXPECT_EQ(Field("secondary"), "false");
  EXPECT_EQ(Field("hosts"), R"(["n1:1","n2:2","n3:3"])");
  EXPECT_EQ(Field("setName"), "\"s0\"");
  EXPECT_EQ(Field("setVersion"), "4");
  EXPECT_EQ(Field("me"), "\"n1:1\"");
  EXPECT_EQ(Field("primary"), "\"n1:1\"");
  EXPECT_EQ(Field("electionId"), R"({"$oid":"7fffffff0000000000000102"})");
  for (const char* absent : {"passives", "arbiters", "hidden", "tags", "passive"}) {
    EXPECT_EQ(Field(absent), "missing") << absent;
  }
  const bson::Document reply = Run(R"({"isMaster": 1})");
  EXPECT_TRUE(reply["ismaster"].AsBool());
}

TEST_F(HelloTest, SecondaryHasNoElection) {
  set_.Follow(3);
  set_.Set([](SetStatus& status) {
    status.applied = {3, uint64_t{100} << 32 | 7};
    status.commit = {3, uint64_t{99} << 32 | 1};
  });
  EXPECT_EQ(Field("isWritablePrimary"), "false");
  EXPECT_EQ(Field("secondary"), "true");
  EXPECT_EQ(Field("primary"), "\"n2:2\"");
  EXPECT_EQ(Field("electionId"), "missing");
  EXPECT_EQ(Field("lastWrite"), R"({"opTime":{"ts":{"$timestamp":{"t":100,"i":7}},"t":3},)"
                                R"("lastWriteDate":{"$date":"1970-01-01T00:01:40.007Z"},)"
                                R"("majorityOpTime":{"ts":{"$timestamp":{"t":99,"i":1}},"t":3},)"
                                R"("majorityWriteDate":{"$date":"1970-01-01T00:01:39.001Z"}})");
}

TEST_F(HelloTest, RecoveringIsNeither) {
  set_.Follow(3);
  for (MemberState state :
       {MemberState::kRecovering, MemberState::kStartup2, MemberState::kRollback}) {
    set_.Set([state](SetStatus& status) { status.state = state; });
    EXPECT_EQ(Field("isWritablePrimary"), "false");
    EXPECT_EQ(Field("secondary"), "false");
    EXPECT_EQ(Field("setName"), "\"s0\"");
  }
}

TEST_F(HelloTest, LeaderThatDoesNotWriteYetIsShownAsSecondary) {
  set_.Lead(3);
  set_.Set([](SetStatus& status) { status.writable = false; });
  EXPECT_EQ(Field("isWritablePrimary"), "false");
  EXPECT_EQ(Field("secondary"), "true");
  EXPECT_EQ(Field("electionId"), "missing");
}

TEST_F(HelloTest, HiddenAndPassiveMembers) {
  set_.Follow(3);
  set_.Set([](SetStatus& status) {
    status.config = *bson::Document::FromJson(R"({"_id": "s0", "version": 5, "members": [
      {"_id": 0, "host": "n1:1", "priority": 0, "hidden": true, "tags": {"dc": "east"},
       "secondaryDelaySecs": 60},
      {"_id": 1, "host": "n2:2"}, {"_id": 2, "host": "n3:3", "priority": 0}]})");
  });
  EXPECT_EQ(Field("hosts"), R"(["n2:2"])");
  EXPECT_EQ(Field("passives"), R"(["n3:3"])");
  EXPECT_EQ(Field("hidden"), "true");
  EXPECT_EQ(Field("passive"), "true");
  EXPECT_EQ(Field("secondaryDelaySecs"), "60");
  EXPECT_EQ(Field("tags"), R"({"dc":"east"})");
  EXPECT_EQ(Field("me"), "\"n1:1\"");
}

TEST_F(HelloTest, RemovedMemberIsInNoSet) {
  set_.Lead(3);
  set_.Set([](SetStatus& status) {
    status.self = -1;
    status.writable = false;
    status.state = MemberState::kRemoved;
  });
  EXPECT_EQ(Field("isreplicaset"), "true");
  EXPECT_EQ(Field("setName"), "missing");
}

TEST_F(HelloTest, AwaitedHelloWaitsForTheNextChange) {
  set_.Lead(3);
  Sent hello = Send(Await(Run(R"({"hello": 1})"), 600'000));
  ASSERT_TRUE(hello.parked());
  set_.changed.Ring();  // writes go on: no change of the topology
  hello.Resume();
  ASSERT_TRUE(hello.parked());
  set_.Follow(4);
  EXPECT_TRUE(hello.woken());
  hello.Resume();
  ASSERT_FALSE(hello.parked());
  EXPECT_FALSE(hello.reply()["isWritablePrimary"].AsBool());
}

TEST_F(HelloTest, AwaitedHelloOfAnOldTopologyIsAnsweredAtOnce) {
  set_.Lead(3);
  const bson::Document old = Run(R"({"hello": 1})");
  set_.Follow(4);
  EXPECT_FALSE(Send(Await(old, 600'000)).parked());
}

TEST_F(HelloTest, AwaitedHelloEndsInTime) {
  set_.Lead(3);
  const bson::Document now = Run(R"({"hello": 1})");
  EXPECT_FALSE(Send(Await(now, 0)).parked());
  Sent hello = Send(Await(now, 1));
  while (hello.parked() && std::chrono::steady_clock::now() < hello.until()) {
  }
  if (hello.parked()) {
    hello.Resume();
  }
  EXPECT_TRUE(hello.reply()["isWritablePrimary"].AsBool());
}

TEST_F(HelloTest, StreamOfHellosGoesOnWithTheNewTopology) {
  set_.Lead(3);
  Sent hello = Send(Await(Run(R"({"hello": 1})"), 600'000), "admin", true);
  set_.Follow(4);
  hello.Resume();
  EXPECT_TRUE(hello.outcome().more_to_come);
  EXPECT_EQ(bson::ToJson(hello.outcome().next["topologyVersion"]),
            bson::ToJson(hello.reply()["topologyVersion"]));
}

TEST_F(HelloTest, EndingPrimaryShowsNone) {
  set_.Lead(3);
  Sent awaited = Send(Await(Run(R"({"hello": 1})"), 600'000));
  node_.commands().Quiesce(std::chrono::minutes(1));
  EXPECT_TRUE(awaited.woken());
  awaited.Resume();
  EXPECT_FALSE(awaited.reply()["isWritablePrimary"].AsBool());
  EXPECT_TRUE(awaited.reply()["secondary"].AsBool());
  EXPECT_TRUE(awaited.reply()["primary"].missing());
  EXPECT_NE(Field("remainingQuiesceTimeMillis"), "missing");
}

TEST_F(HelloTest, ServerStatusTellsTheSame) {
  set_.Lead(258);
  const bson::Document reply = Run(R"({"serverStatus": 1})", "admin");
  const bson::View repl = reply["repl"].AsDocument();
  EXPECT_TRUE(repl["isWritablePrimary"].AsBool());
  EXPECT_EQ(repl["hosts"].AsArray().Count(), 3U);
  EXPECT_EQ(repl["me"].AsString(), "n1:1");
  EXPECT_FALSE(repl["electionId"].missing());
  EXPECT_FALSE(repl["rbid"].missing());
}

}  // namespace
}  // namespace quire::command
