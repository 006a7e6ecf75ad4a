// SPDX-License-Identifier: Apache-2.0
#include "repl/core/core.h"

#include <gtest/gtest.h>

#include <memory>

namespace quire::repl {
namespace {

// Member 0 of three, with the others played by the test.
class CoreTest : public testing::Test {
 protected:
  CoreTest() : core_(0, 100, {}, 1) {
    auto config = std::make_shared<SetConfig>();
    config->version = 1;
    for (MemberId id = 0; id < 3; ++id) {
      config->members.emplace_back().id = id;
      keys_.isr.members.Add({id, static_cast<DataId>(10 + id)});
    }
    keys_.config.config = config;
    keys_.stamp.counter = 1;
    Started started;
    started.local.data = 10;
    started.local.fresh = false;
    Step(started);
    Step(Hint{keys_});
  }

  void Step(const Input& input) {
    actions_.clear();
    core_.Step(input, &actions_);
  }
  template <typename T>
  std::vector<T> All() const {
    std::vector<T> found;
    for (const Action& action : actions_)
      if (const T* one = std::get_if<T>(&action)) found.push_back(*one);
    return found;
  }
  template <typename T>
  std::vector<T> Sent() const {
    std::vector<T> found;
    for (const Send& send : All<Send>())
      if (const T* one = std::get_if<T>(&send.message)) found.push_back(*one);
    return found;
  }
  void Advance(Millis by) { Step(Tick{now_ += by}); }
  void ToElection() {
    Advance(20000);
    uint64_t round = Sent<PreVote>().at(0).round;
    PreVoteAnswer answer;
    answer.round = round;
    answer.data = 11;
    answer.heard = keys_.stamp;
    Step(Received{1, answer});
    answer.data = 12;
    Step(Received{2, answer});
  }
  // Answers the write among the actions as the store would.
  void Confirm() {
    WriteKeys write = All<WriteKeys>().at(0);
    if (write.leader) keys_.leader = write.wanted.leader;
    if (write.isr) keys_.isr = write.wanted.isr;
    if (write.config) keys_.config = write.wanted.config;
    KeyVersion version{++revision_, write.nonce};
    if (write.leader) keys_.leader.version = version;
    if (write.isr) keys_.isr.version = version;
    if (write.config) keys_.config.version = version;
    keys_.stamp = {write.wanted.stamp.counter, write.nonce};
    Step(StoreAnswer{write.ticket, true, keys_});
  }
  Ack AckOf(MemberId from, Time durable, bool joined = true) const {
    Ack ack;
    ack.epoch = core_.epoch();
    ack.session = {static_cast<Boot>(200 + from), 1};
    ack.data = static_cast<DataId>(10 + from);
    ack.counter = keys_.stamp.counter;
    ack.beacon = now_;
    ack.joined = joined;
    ack.durable = durable;
    ack.last = {core_.epoch(), durable};
    return ack;
  }
  void Join(MemberId from) {
    Hello hello{core_.epoch(),
                {static_cast<Boot>(200 + from), 1},
                static_cast<DataId>(10 + from),
                false,
                0,
                {}};
    Step(Received{from, hello});
    Step(Received{from, AckOf(from, 0)});
  }
  void BecomePrimary() {
    ToElection();
    Confirm();
    Join(1);
    Join(2);
    Step(Grown{5});
    Step(Synced{All<SyncLog>().at(0).generation, 5});
    Step(Received{1, AckOf(1, 5)});
    Step(Received{2, AckOf(2, 5)});
  }

  Core core_;
  View keys_;
  int64_t revision_ = 1;
  Millis now_ = 0;
  std::vector<Action> actions_;
};

TEST_F(CoreTest, OpensItsLogWhenAMajorityHasAcceptedIt) {
  ToElection();
  Confirm();
  EXPECT_TRUE(core_.leading());
  EXPECT_FALSE(core_.log_open());
  Join(1);
  EXPECT_TRUE(core_.log_open());
  EXPECT_EQ(core_.state(), MemberState::kPrimary);
}

TEST_F(CoreTest, ResignsWhenASlotCouldNotBeWritten) {
  BecomePrimary();
  Step(LogBroken{});
  EXPECT_FALSE(core_.writable());
  Step(LogBroken{});  // one told twice
  Advance(100);
  EXPECT_FALSE(core_.leading());
  EXPECT_EQ(All<CloseLog>().size(), 1u);
  EXPECT_EQ(Sent<TakeOver>().size(), 1u);
  Step(LogBroken{});
  EXPECT_TRUE(All<CloseLog>().empty());
}

TEST_F(CoreTest, CommitsWhatAllInSyncHold) {
  BecomePrimary();
  EXPECT_EQ(core_.commit(), 5u);
  Step(Grown{9});
  Step(Synced{All<SyncLog>().at(0).generation, 9});
  Step(Received{1, AckOf(1, 9)});
  EXPECT_EQ(core_.commit(), 5u);
  Step(Received{2, AckOf(2, 7)});
  EXPECT_EQ(core_.commit(), 7u);
}

TEST_F(CoreTest, AWaiterOfAnotherEpochIsAnsweredAtOnce) {
  BecomePrimary();
  Step(Await{1, {core_.epoch() - 1, 3}, {}});
  ASSERT_EQ(All<Answer>().size(), 1u);
  EXPECT_EQ(All<Answer>()[0].code, kPrimarySteppedDown);
  Step(Await{2, {core_.epoch(), 5}, {}});
  EXPECT_EQ(All<Answer>().at(0).code, 0);
  Step(Await{3, {core_.epoch(), 9}, {WriteConcern::Kind::kMajority, 1, "", 50, {}}});
  EXPECT_TRUE(All<Answer>().empty());
  Advance(60);
  EXPECT_EQ(All<Answer>().at(0).code, kWriteConcernFailed);
}

TEST_F(CoreTest, LinearizableReadsShareANoopWrittenAfterThem) {
  BecomePrimary();
  Step(Linearize{1});
  WriteNoop first = All<WriteNoop>().at(0);
  Step(Linearize{2});
  Step(Linearize{3});
  EXPECT_TRUE(All<WriteNoop>().empty());
  Step(NoopWritten{first.token, {core_.epoch(), 5}});  // committed already, for the test
  ASSERT_EQ(All<Answer>().size(), 1u);
  EXPECT_EQ(All<Answer>()[0].id, 1u);
  WriteNoop second = All<WriteNoop>().at(0);
  Step(NoopWritten{first.token, {core_.epoch(), 5}});
  EXPECT_TRUE(All<Answer>().empty());
  Step(NoopWritten{second.token, {core_.epoch(), 5}});
  EXPECT_EQ(All<Answer>().size(), 2u);
}

TEST_F(CoreTest, AHungDiskHandsOver) {
  BecomePrimary();
  Step(Grown{9});
  for (int i = 0; i < 12 && core_.leading(); ++i) {
    Advance(500);
    if (!core_.leading()) break;
    Step(Received{1, AckOf(1, 9)});
    Step(Received{2, AckOf(2, 9)});
  }
  EXPECT_FALSE(core_.leading());
  EXPECT_EQ(Sent<TakeOver>().size(), 1u);
  EXPECT_EQ(All<CloseLog>().size(), 1u);
}

TEST_F(CoreTest, WithoutAProofItStepsDown) {
  BecomePrimary();
  for (int i = 0; i < 17; ++i) Advance(500);
  EXPECT_FALSE(core_.leading());
}

TEST_F(CoreTest, WritersWaitForAMemberThatLagsInApplying) {
  BecomePrimary();
  Step(Grown{9});
  Step(Synced{All<SyncLog>().at(0).generation, 9});
  auto acknowledge = [&](Time applied) {
    for (MemberId from : {1, 2}) {
      Ack ack = AckOf(from, 9);
      ack.applied = from == 1 ? applied : 9;
      Step(Received{from, ack});
    }
  };
  std::vector<PauseWrites> pauses;
  for (int i = 0; i < 12 && pauses.empty(); ++i) {
    Advance(500);
    pauses = All<PauseWrites>();
    acknowledge(5);
  }
  ASSERT_EQ(pauses.size(), 1u);
  EXPECT_TRUE(pauses[0].paused);
  EXPECT_TRUE(core_.leading());
  acknowledge(9);
  Advance(500);
  ASSERT_EQ(All<PauseWrites>().size(), 1u);
  EXPECT_FALSE(All<PauseWrites>()[0].paused);
}

TEST_F(CoreTest, FreezeIsForThoseWhoDoNotLead) {
  Step(FreezeCommand{1, 60000});
  EXPECT_EQ(All<CommandDone>().at(0).code, 0);
  Advance(20000);
  EXPECT_TRUE(Sent<PreVote>().empty());
  Step(FreezeCommand{2, 0});
  BecomePrimary();
  Step(FreezeCommand{3, 1000});
  EXPECT_EQ(All<CommandDone>().at(0).code, kNotSecondary);
}

TEST_F(CoreTest, StepDownWithoutASuccessorIsRefusedUnlessForced) {
  BecomePrimary();
  Step(Grown{9});
  Step(StepDownCommand{1, 60000, 1000, false});
  EXPECT_EQ(All<PauseWrites>().size(), 1u);
  EXPECT_FALSE(core_.writable());
  Advance(1000);
  EXPECT_EQ(All<CommandDone>().at(0).code, kExceededTimeLimit);
  EXPECT_TRUE(core_.writable());
  Step(StepDownCommand{2, 60000, 1000, true});
  Advance(1000);
  EXPECT_EQ(All<CommandDone>().at(0).code, 0);
  EXPECT_FALSE(core_.leading());
}

TEST_F(CoreTest, AForcedStepDownNamesWhoHoldsMost) {
  BecomePrimary();
  Step(Grown{9});
  Step(Received{1, AckOf(1, 7)});
  Step(Received{2, AckOf(2, 8)});
  Step(StepDownCommand{1, 60000, 0, true});
  EXPECT_TRUE(core_.leading()) << "what is under way may be quick";
  Advance(Settings().settle);
  EXPECT_EQ(All<CommandDone>().at(0).code, 0);
  EXPECT_FALSE(core_.leading());
  ASSERT_EQ(Sent<TakeOver>().size(), 1u);
  for (const Send& send : All<Send>()) {
    if (std::holds_alternative<TakeOver>(send.message)) {
      EXPECT_EQ(send.to, 2);
    }
  }
}

TEST_F(CoreTest, AStepDownAnswersThoseWhoWaitFirst) {
  BecomePrimary();
  Step(Grown{9});
  const uint64_t generation = All<SyncLog>().at(0).generation;
  Step(Await{1, {core_.epoch(), 9}, {}});
  Step(StepDownCommand{1, 60000, 1000, false});
  Step(Received{1, AckOf(1, 9)});
  Advance(100);
  EXPECT_TRUE(core_.leading());  // 1 could follow, but 9 is not committed
  Step(Synced{generation, 9});
  Step(Received{2, AckOf(2, 9)});
  ASSERT_EQ(All<Answer>().size(), 1u);
  EXPECT_EQ(All<Answer>()[0].code, 0);
  EXPECT_FALSE(core_.leading());
  EXPECT_EQ(Sent<TakeOver>().size(), 1u);
}

TEST_F(CoreTest, WhoIsToTakeOverLooksForKeysThatPutItInSync) {
  keys_.isr.members.Remove(0);
  keys_.leader.leader = {4, 1, 300};
  keys_.stamp.counter = 2;
  Step(Hint{keys_});
  Beacon beacon;
  beacon.epoch = 4;
  beacon.boot = 300;
  beacon.stamp = beacon.base = keys_.stamp;
  Step(Received{1, beacon});
  Step(Received{1, TakeOver{4}});
  EXPECT_TRUE(Sent<PreVote>().empty());
  EXPECT_EQ(All<ReadKeys>().size(), 1u);
  keys_.isr.members.Add({0, 10});
  keys_.stamp.counter = 3;
  Step(Hint{keys_});
  Advance(Settings().ballot);
  ASSERT_EQ(Sent<PreVote>().size(), 2u);
  EXPECT_TRUE(Sent<PreVote>()[0].transfer);
  // The answers are lost: asked once more, but not for ever.
  Advance(Settings().ballot);
  Advance(Settings().ballot * 2);
  EXPECT_EQ(Sent<PreVote>().size(), 2u);
  Advance(Settings().courtesy);
  Advance(Settings().ballot * 2);
  EXPECT_TRUE(Sent<PreVote>().empty());
}

TEST_F(CoreTest, StepsDownWhenNoMajorityAcceptsIt) {
  ToElection();
  Confirm();
  for (Millis waited = 0; waited <= Settings().election; waited += 1000) {
    ASSERT_TRUE(core_.leading());
    // They answer, but have lost their folders: what they accept is no promise.
    for (MemberId member : {1, 2}) {
      Ack ack = AckOf(member, 0, false);
      ack.fresh = true;
      Step(Received{member, ack});
    }
    Advance(1000);
  }
  EXPECT_FALSE(core_.leading());
}

TEST_F(CoreTest, AReconfigAddsNewMembersWithoutAVote) {
  BecomePrimary();
  auto wanted = std::make_shared<SetConfig>(keys_.set());
  wanted->members.emplace_back().id = 7;
  Step(ReconfigCommand{1, wanted});
  WriteKeys write = All<WriteKeys>().at(0);
  EXPECT_TRUE(write.wanted.set().Find(7)->newly_added);
  EXPECT_EQ(write.wanted.set().Voters(), 3);
  EXPECT_EQ(write.wanted.isr.members.size(), 3);
  Confirm();
  EXPECT_EQ(All<CommandDone>().at(0).code, 0);
  auto without_self = std::make_shared<SetConfig>(keys_.set());
  without_self->members.erase(without_self->members.begin());
  Step(ReconfigCommand{2, without_self});
  EXPECT_EQ(All<CommandDone>().at(0).code, kNewReplicaSetConfigurationIncompatible);
}

TEST_F(CoreTest, ARestartedFormerLeaderShowsNoMajorityReadsUntilItKnowsTheCommitPoint) {
  Core core(0, 101, {}, 1);
  Started started;
  started.local.data = 10;
  started.local.accepted = {3, 0, 100};
  started.log.ends = {{3, 20}};
  started.applied = 20;
  started.commit = 15;
  core.Step(started, &actions_);
  core.Step(Hint{keys_}, &actions_);
  EXPECT_EQ(core.majority_reads(), Core::MajorityReads::kNone);
  EXPECT_EQ(core.state(), MemberState::kRecovering);
}

TEST_F(CoreTest, ALogThatEndsBeforeWhatWasAckedIsCopiedAnew) {
  Core core(0, 101, {}, 1);
  Started started;
  started.local.data = 10;
  started.local.acked = 30;
  started.log.ends = {{3, 20}};
  actions_.clear();
  core.Step(started, &actions_);
  EXPECT_EQ(All<Resync>().size(), 1u);
  EXPECT_EQ(core.state(), MemberState::kInitialSync);
}

TEST_F(CoreTest, RecoveryWaitsForTheOwnLogToBeSynced) {
  Core core(0, 101, {}, 1);
  Started started;
  started.local.data = 10;
  started.local.fresh = false;
  started.log.ends = {{3, 20}};
  actions_.clear();
  core.Step(started, &actions_);
  uint64_t generation = All<SyncLog>().at(0).generation;
  core.Step(Hint{keys_}, &actions_);
  actions_.clear();
  core.Step(RecoverCommand{1, true}, &actions_);
  core.Step(Tick{5000}, &actions_);
  EXPECT_EQ(All<WriteKeys>().size(), 0u);
  // The fence began a new handshake: the sync that counts is the one asked for since.
  for (const SyncLog& sync : All<SyncLog>()) generation = sync.generation;
  core.Step(Synced{generation, 20}, &actions_);
  core.Step(Tick{6000}, &actions_);  // asks again, behind another fence
  for (const SyncLog& sync : All<SyncLog>()) generation = sync.generation;
  core.Step(Synced{generation, 20}, &actions_);
  core.Step(Tick{10000}, &actions_);
  EXPECT_EQ(All<WriteKeys>().size(), 1u);
  EXPECT_EQ(All<CommandDone>().size(), 0u);
}

TEST_F(CoreTest, RecoveryWaitsUntilTheLeaderIsSilent) {
  Beacon beacon;
  beacon.epoch = 1;
  beacon.boot = 201;
  Step(Received{1, beacon});
  Step(RecoverCommand{1, true});
  EXPECT_EQ(Sent<Survey>().size(), 0u);
  Advance(13000);
  EXPECT_EQ(Sent<Survey>().size(), 2u);
  Advance(2500);
  ASSERT_EQ(All<WriteKeys>().size(), 1u);
  Confirm();
  EXPECT_EQ(All<CommandDone>().at(0).code, 0);
  EXPECT_TRUE(core_.leading());
}

TEST_F(CoreTest, RecoveryNeedsAMajorityUnlessLossIsAccepted) {
  Advance(20000);
  Step(RecoverCommand{1, false});
  EXPECT_EQ(Sent<Survey>().size(), 2u);
  Advance(35000);
  EXPECT_EQ(All<WriteKeys>().size(), 0u);
  EXPECT_EQ(All<CommandDone>().at(0).code, kCommandFailed);
  Step(RecoverCommand{2, true});
  Advance(2500);
  WriteKeys write = All<WriteKeys>().at(0);
  EXPECT_EQ(write.wanted.isr.members.size(), 1);
  EXPECT_EQ(write.wanted.isr.unclean, 1u);
  Confirm();
  EXPECT_EQ(All<CommandDone>().at(0).code, 0);
  EXPECT_TRUE(core_.leading());
}

// It could become a leader older than the recovery it has made its promise to.
TEST_F(CoreTest, WhoCampaignsPromisesNothingToARecovery) {
  ToElection();
  const WriteKeys write = All<WriteKeys>().at(0);
  Step(Received{1, Survey{7, write.wanted.leader.leader.epoch + 1}});
  ASSERT_EQ(Sent<SurveyAnswer>().size(), 1U);
  EXPECT_FALSE(Sent<SurveyAnswer>()[0].fenced);
  // Another one's write has made its own impossible.
  keys_.leader.version = {++revision_, {9, 9}};
  Step(StoreAnswer{write.ticket, false, keys_});
  Step(Received{1, Survey{8, write.wanted.leader.leader.epoch + 1}});
  ASSERT_EQ(Sent<SurveyAnswer>().size(), 1U);
  EXPECT_TRUE(Sent<SurveyAnswer>()[0].fenced);
}

}  // namespace
}  // namespace quire::repl
