// SPDX-License-Identifier: Apache-2.0
#include "repl/member/member.h"

#include <gtest/gtest.h>

#include "coord/etcd/etcd_store.h"
#include "coord/testing/etcd_process.h"
#include "coord/testing/memory_store.h"
#include "repl/testing/test_set.h"

namespace quire::repl {
namespace {

class MemberTest : public ::testing::Test {
 protected:
  StoreFactory Shared() {
    return [this] { return std::make_unique<BorrowedStore>(&store_); };
  }
  // A set whose members are all in sync.
  std::unique_ptr<TestSet> Made(size_t members) {
    auto set = std::make_unique<TestSet>(members, Shared());
    std::vector<size_t> all(members);
    for (size_t i = 0; i < members; ++i) {
      all[i] = i;
    }
    const Status initiated = (*set)[0].Initiate(set->Config(all));
    EXPECT_TRUE(initiated.ok()) << initiated.ToString();
    EXPECT_TRUE(set->AwaitInSync(members));
    return set;
  }

  coord::MemoryStore store_;
};

TEST_F(MemberTest, BeforeASetIsInitiatedNothingIsPromised) {
  TestSet set(1, Shared());
  EXPECT_FALSE(set[0].status()->initiated);
  EXPECT_EQ(set[0].state(), engine::MemberState::kStartup);
  EXPECT_EQ(set[0].StepDown().code(), kNotYetInitialized);
  EXPECT_EQ(set[0].Reconfigure(set.Config({0})).code(), kNotYetInitialized);
  EXPECT_EQ(set[0].AwaitTime(1, false).code(), kNotPrimaryOrSecondary);
  EXPECT_EQ(set[0].Write("x", Majority()).code(), kNotWritablePrimary);
}

TEST_F(MemberTest, ASetOfOneIsInitiatedOnce) {
  TestSet set(1, Shared());
  EXPECT_EQ(set[0]
                .Initiate(Doc("_id", "other", "version", 1, "members",
                              List(Doc("_id", 0, "host", set[0].host()))))
                .code(),
            kInvalidReplicaSetConfig);
  EXPECT_EQ(set[0]
                .Initiate(Doc("_id", "s0", "version", 1, "members",
                              List(Doc("_id", 0, "host", "127.0.0.1:1"))))
                .code(),
            kInvalidReplicaSetConfig);
  EXPECT_EQ(set[0]
                .Initiate(Doc("_id", "s0", "version", 1, "members",
                              List(Doc("_id", 0, "host", set[0].host()),
                                   Doc("_id", 1, "host", "127.0.0.1:1"))))
                .code(),
            kNodeNotFound);
  ASSERT_TRUE(set[0].Initiate({}).ok());
  ASSERT_TRUE(set.AwaitPrimary());
  EXPECT_EQ(set[0].Initiate({}).code(), kAlreadyInitialized);
  EXPECT_TRUE(set[0].Write("x", Majority()).ok());
  const auto status = set[0].status();
  EXPECT_EQ(status->epoch, 1U);
  EXPECT_EQ(status->primary, 0);
  EXPECT_EQ(status->config["_id"].AsString(), "s0");
  EXPECT_EQ(status->config["settings"].AsDocument()["replicaSetId"].type(), bson::Type::kObjectId);
}

TEST_F(MemberTest, ThreeMembersElectAndReplicate) {
  auto set = Made(3);
  TestNode* primary = set->Primary();
  ASSERT_NE(primary, nullptr);
  std::vector<std::string> texts;
  for (int i = 0; i < 50; ++i) {
    texts.push_back("write " + std::to_string(i));
    ASSERT_TRUE(primary->Write(texts.back(), i % 2 == 0 ? Majority() : Number(3)).ok());
  }
  EXPECT_TRUE(set->AwaitTexts(texts));
  EXPECT_EQ((*set)[0].copies(), 0);
  EXPECT_EQ((*set)[1].copies(), 1);
  EXPECT_EQ((*set)[1].state(), engine::MemberState::kSecondary);
  // Everybody knows of everybody.
  EXPECT_TRUE(set->Await([&] {
    const auto status = (*set)[2].status();
    return status->members.size() == 3 && status->primary == 0 &&
           status->members[1].state == engine::MemberState::kSecondary &&
           status->members[0].state == engine::MemberState::kPrimary && status->members[1].healthy;
  }));
}

TEST_F(MemberTest, ConcernsAreMetTimeOutOrCannotBe) {
  auto set = Made(3);
  TestNode& primary = *set->Primary();
  EXPECT_EQ(primary.member().CheckWriteConcern(Number(4)).code(), kUnsatisfiableWriteConcern);
  request::WriteConcern mode;
  mode.w = bson::Value("nothing");
  EXPECT_EQ(primary.member().CheckWriteConcern(mode).message(),
            "No write concern mode named 'nothing' found in replica set configuration");
  EXPECT_TRUE(primary.member().CheckWriteConcern(Majority()).ok());
  (*set)[1].data().HoldSyncs(true);
  (*set)[2].data().HoldSyncs(true);
  EXPECT_TRUE(primary.Write("one", Number(1)).ok());
  EXPECT_EQ(primary.Write("all", Number(3, 50)).code(), kWriteConcernFailed);
  EXPECT_EQ(primary.Write("most", Majority(50)).code(), kWriteConcernFailed);
  (*set)[1].data().HoldSyncs(false);
  (*set)[2].data().HoldSyncs(false);
  EXPECT_TRUE(primary.Write("again", Number(3)).ok());
}

TEST_F(MemberTest, TestsOfClientsStopAMember) {
  auto set = Made(3);
  TestNode& primary = *set->Primary();
  TestNode& follower = (*set)[1];
  follower.LoseLog(true);
  EXPECT_EQ(primary.Write("lost", Number(3, 50)).code(), kWriteConcernFailed);
  follower.LoseLog(false);
  EXPECT_TRUE(primary.Write("sent", Number(3)).ok());
  follower.ApplyNothing(true);
  EXPECT_EQ(primary.Write("not shown", Number(3, 50)).code(), kWriteConcernFailed);
  const uint64_t last = primary.data().LastSlot().time;
  EXPECT_TRUE(Eventually([&] { return follower.status()->last.time >= last; })) << "it is there";
  EXPECT_LT(follower.data().Applied(), last);
  follower.ApplyNothing(false);
  EXPECT_TRUE(Eventually([&] { return follower.data().Applied() >= last; }))
      << "nothing else has to happen for it";
}

TEST_F(MemberTest, TheLogIsTakenWhileTheDiskSyncs) {
  auto set = Made(3);
  TestNode& follower = (*set)[1];
  follower.data().HoldSyncs(true);
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE((*set)[0].data().Write("x" + std::to_string(i)).ok());
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  const uint64_t last = (*set)[0].data().LastSlot().time;
  EXPECT_TRUE(Eventually([&] { return follower.status()->last.time >= last; }));
  EXPECT_LT(follower.status()->commit.time, last);
  follower.data().HoldSyncs(false);
  EXPECT_TRUE((*set)[0].Write("y", Majority()).ok());
  EXPECT_TRUE(Eventually([&] { return follower.data().Texts() == (*set)[0].data().Texts(); }));
}

TEST_F(MemberTest, AWaitThatIsGivenUpIsNotAnswered) {
  auto set = Made(3);
  TestNode& primary = *set->Primary();
  (*set)[1].data().HoldSyncs(true);
  (*set)[2].data().HoldSyncs(true);
  std::atomic<int> answers{0};
  auto slot = primary.data().Write("x");
  ASSERT_TRUE(slot.ok());
  auto pending = primary.member().AwaitConcern(*slot, Majority(), [&](Status) { ++answers; });
  pending.reset();
  (*set)[1].data().HoldSyncs(false);
  (*set)[2].data().HoldSyncs(false);
  EXPECT_TRUE(primary.Write("y", Number(3)).ok());
  EXPECT_EQ(answers, 0);
}

TEST_F(MemberTest, AnotherLeadsWhenThePrimaryDies) {
  auto set = Made(3);
  std::vector<std::string> texts;
  for (int round = 0; round < 3; ++round) {
    TestNode* primary = set->Primary();
    ASSERT_NE(primary, nullptr);
    texts.push_back("before " + std::to_string(round));
    ASSERT_TRUE(primary->Write(texts.back(), Majority()).ok());
    const uint64_t epoch = primary->status()->epoch;
    primary->Kill();
    ASSERT_TRUE(set->AwaitPrimary());
    EXPECT_GT(set->Primary()->status()->epoch, epoch);
    texts.push_back("after " + std::to_string(round));
    const Status written = set->Primary()->Write(texts.back(), Majority());
    ASSERT_TRUE(written.ok()) << written.ToString();
    primary->Start();
    ASSERT_TRUE(set->AwaitInSync(3));
    EXPECT_TRUE(set->AwaitTexts(texts));
  }
}

TEST_F(MemberTest, APrimaryThatCannotWriteItsLogResigns) {
  auto set = Made(3);
  TestNode* primary = set->Primary();
  const uint64_t epoch = primary->status()->epoch;
  ASSERT_TRUE(primary->Write("before", Majority()).ok());
  primary->data().Break();
  EXPECT_TRUE(set->Await([&] { return primary->step_downs() == 1; }));
  ASSERT_TRUE(set->AwaitPrimary());
  EXPECT_GT(set->Primary()->status()->epoch, epoch);
  ASSERT_TRUE(set->Primary()->Write("after", Majority()).ok());
  EXPECT_TRUE(set->AwaitTexts({"before", "after"}));
}

TEST_F(MemberTest, WhatWasNotCommittedIsRolledBack) {
  auto set = Made(3);
  TestNode* primary = set->Primary();
  ASSERT_TRUE(primary->Write("kept", Majority()).ok());
  for (size_t i = 0; i < 3; ++i) {
    if (&(*set)[i] != primary) (*set)[i].Kill();
  }
  ASSERT_TRUE(primary->data().Write("lost").ok());
  primary->Kill();
  for (size_t i = 0; i < 3; ++i) {
    if (&(*set)[i] != primary) (*set)[i].Start();
  }
  ASSERT_TRUE(set->AwaitPrimary());
  ASSERT_TRUE(set->Primary()->Write("new", Majority()).ok());
  primary->Start();
  ASSERT_TRUE(set->AwaitInSync(3));
  EXPECT_TRUE(set->AwaitTexts({"kept", "new"}));
  EXPECT_EQ(primary->status()->rollback_id, 2);
  EXPECT_EQ(set->Primary()->status()->rollback_id, 1);
  primary->Kill();
  primary->Start();
  EXPECT_EQ(primary->status()->rollback_id, 2);
}

TEST_F(MemberTest, AProcessThatDidNotEndInOrderRaisesTheRollbackId) {
  auto set = Made(1);
  TestNode& member = (*set)[0];
  EXPECT_EQ(member.status()->rollback_id, 1);
  const bson::Document alive = member.disk().local;  // as a process that is killed leaves it
  member.Kill();
  member.Start();
  EXPECT_EQ(member.status()->rollback_id, 1);
  member.Kill();
  member.disk().local = alive;
  member.Start();
  EXPECT_EQ(member.status()->rollback_id, 2);
}

TEST_F(MemberTest, AWipedMemberCopiesAnother) {
  auto set = Made(3);
  TestNode& wiped = set->Primary() == &(*set)[2] ? (*set)[1] : (*set)[2];
  ASSERT_TRUE(set->Primary()->Write("a", Number(3)).ok());
  const int copies = wiped.copies();
  wiped.Kill();
  wiped.Wipe();
  ASSERT_TRUE(set->Primary()->Write("b", Majority()).ok());
  wiped.Start();
  ASSERT_TRUE(set->AwaitInSync(3));
  EXPECT_EQ(wiped.copies(), copies + 1);
  EXPECT_TRUE(set->AwaitTexts({"a", "b"}));
}

TEST_F(MemberTest, StepsDownAndUp) {
  auto set = Made(3);
  TestNode* before = set->Primary();
  ASSERT_TRUE(before->Write("a", Majority()).ok());
  const Status down = before->StepDown();
  ASSERT_TRUE(down.ok()) << down.ToString();
  EXPECT_FALSE(before->member().writes_paused());
  ASSERT_TRUE(set->Await([&] { return set->Primary() != nullptr && set->Primary() != before; }));
  EXPECT_EQ(before->step_downs(), 1);
  EXPECT_EQ(before->StepDown().message(), "not primary so can't step down");
  ASSERT_TRUE(set->AwaitInSync(3));
  TestNode* wanted = set->Primary() == &(*set)[2] ? &(*set)[1] : &(*set)[2];
  EXPECT_TRUE(set->Await([&] { return wanted->StepUp().ok(); }));
  ASSERT_TRUE(set->Await([&] { return wanted->status()->writable; }));
  ASSERT_TRUE(wanted->Write("b", Majority()).ok());
  EXPECT_TRUE(set->AwaitTexts({"a", "b"}));
}

TEST_F(MemberTest, MembersAreAddedAndRemoved) {
  auto set = Made(2);
  TestNode& added = set->AddNode();
  ASSERT_TRUE(set->Primary()->Write("a", Majority()).ok());
  EXPECT_EQ(set->Primary()->Reconfigure(set->Config({0, 1, 2}, 1)).code(),
            kNewReplicaSetConfigurationIncompatible);
  EXPECT_EQ(
      (*set)[set->Primary() == &(*set)[0] ? 1 : 0].Reconfigure(set->Config({0, 1, 2}, 2)).code(),
      kNotWritablePrimary);
  const Status more = set->Primary()->Reconfigure(set->Config({0, 1, 2}, 2));
  ASSERT_TRUE(more.ok()) << more.ToString();
  ASSERT_TRUE(set->AwaitInSync(3));
  EXPECT_EQ(added.state(), engine::MemberState::kSecondary);
  EXPECT_TRUE(set->Primary()->Write("b", Number(3)).ok());
  const int version = set->Primary()->status()->config["version"].AsInt32();
  EXPECT_TRUE(set->Await([&] { return added.configured_version() == version; }));
  const size_t other = set->Primary() == &(*set)[0] ? 1 : 0;
  const std::vector<size_t> left = {1 - other, 2};
  const Status fewer = set->Primary()->Reconfigure(set->Config(left, 5));
  ASSERT_TRUE(fewer.ok()) << fewer.ToString();
  EXPECT_TRUE(set->Await([&] { return (*set)[other].state() == engine::MemberState::kRemoved; }));
  EXPECT_EQ(set->Primary()->status()->config["version"].AsInt32(), 5);
  EXPECT_TRUE(set->Await([&] { return added.configured_version() == 5; }));
  EXPECT_EQ(set->Primary()->member().CheckWriteConcern(Number(3)).code(),
            kUnsatisfiableWriteConcern);
  EXPECT_TRUE(set->Primary()->Write("c", Number(2)).ok());
}

TEST_F(MemberTest, ReadersWaitForATime) {
  auto set = Made(3);
  TestNode& primary = *set->Primary();
  ASSERT_TRUE(primary.Write("a", Majority()).ok());
  TestNode& secondary = set->Primary() == &(*set)[2] ? (*set)[1] : (*set)[2];
  const uint64_t last = primary.data().LastSlot().time;
  EXPECT_TRUE(secondary.AwaitTime(last, true).ok());
  EXPECT_GE(secondary.data().Applied(), last);
  // Beyond the end of the log: the primary writes a no-op.
  EXPECT_TRUE(secondary.AwaitTime(last + 1, false).ok());
  EXPECT_TRUE(primary.AwaitTime(primary.data().LastSlot().time + 1, true).ok());
  EXPECT_TRUE(primary.AwaitLinearizable().ok());
  EXPECT_EQ(secondary.AwaitLinearizable().code(), kNotWritablePrimary);
}

TEST_F(MemberTest, LargeSlotsComeInParts) {
  auto set = Made(3);
  const std::string large(20 << 20, 'x');
  ASSERT_TRUE(set->Primary()->Write(large, Number(3)).ok());
  ASSERT_TRUE(set->Primary()->Write("after", Number(3)).ok());
  EXPECT_TRUE(set->AwaitTexts({large, "after"}));
}

TEST_F(MemberTest, TheStoreMayBeAwayWhileNothingChanges) {
  auto set = Made(3);
  store_.SetAway(true);
  TestNode* primary = set->Primary();
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(primary->Write("x", Majority()).ok());
  }
  TestNode& other = set->Primary() == &(*set)[2] ? (*set)[1] : (*set)[2];
  other.Kill();
  other.Start();  // finds the others by what it has kept
  EXPECT_TRUE(set->Await([&] { return other.state() == engine::MemberState::kSecondary; }));
  EXPECT_TRUE(set->Await([&] { return primary->Write("y", Number(3, 5000)).ok(); }));
  store_.SetAway(false);
}

TEST_F(MemberTest, FreezeAndMaintenance) {
  auto set = Made(2);
  TestNode& primary = *set->Primary();
  TestNode& secondary = &primary == &(*set)[0] ? (*set)[1] : (*set)[0];
  auto freeze = [](TestNode& node) {
    return node.Run([&](auto answer) { node.member().Freeze(std::chrono::seconds(1), answer); });
  };
  EXPECT_EQ(freeze(primary).code(), kNotSecondary);
  EXPECT_TRUE(freeze(secondary).ok());
  EXPECT_EQ(primary.member().SetMaintenance(true).code(), kNotSecondary);
  EXPECT_TRUE(secondary.member().SetMaintenance(true).ok());
  EXPECT_TRUE(set->Await([&] { return secondary.state() == engine::MemberState::kRecovering; }));
  EXPECT_TRUE(secondary.member().SetMaintenance(false).ok());
  EXPECT_EQ(secondary.member().SetMaintenance(false).code(), kOperationFailed);
  EXPECT_TRUE(set->Await([&] { return secondary.state() == engine::MemberState::kSecondary; }));
}

TEST(MemberEtcdTest, ASetLivesWithARealEtcd) {
  coord::EtcdProcess etcd;
  auto open = [&] { return *coord::OpenEtcd({.servers = etcd.url()}); };
  ASSERT_TRUE(coord::EtcdProcess::Await(*open()));
  TestSet set(3, open);
  const Status initiated = set[0].Initiate(set.Config({0, 1, 2}));
  ASSERT_TRUE(initiated.ok()) << initiated.ToString();
  ASSERT_TRUE(set.AwaitInSync(3));
  ASSERT_TRUE(set.Primary()->Write("a", Number(3)).ok());
  TestNode* primary = set.Primary();
  primary->Kill();
  ASSERT_TRUE(set.AwaitPrimary());
  ASSERT_TRUE(set.Primary()->Write("b", Majority()).ok());
  primary->Start();
  ASSERT_TRUE(set.AwaitInSync(3));
  EXPECT_TRUE(set.AwaitTexts({"a", "b"}));
}

}  // namespace
}  // namespace quire::repl
