// SPDX-License-Identifier: Apache-2.0
//
// A simulated set with all rules: what it promises under every fault, and that it gets on its feet
// again.
#include "repl/core/testing/simulator.h"

#include <gtest/gtest.h>

#include <memory>
#include <sstream>

#include "repl/core/testing/mixes.h"
#include "repl/core/testing/scenarios.h"

namespace quire::repl {
namespace {

// Three members with the default times, to which nothing happens but what a test does to them.
class CalmSet : public Simulator {
 public:
  explicit CalmSet(uint64_t seed) : Simulator(Options(seed)) {
    AwaitPrimary(kMinute);
    RunFor(kMinute / 4);
    leader = AwaitPrimary(kMinute);
  }
  static SimulatorOptions Options(uint64_t seed) {
    SimulatorOptions options;
    options.seed = seed;
    options.vary = false;
    options.settings = Settings();
    options.faults.between = 0;
    options.faults.lost_message = options.faults.lost_store_answer = 0;
    options.faults.lost_store_request = options.faults.unseen_death = 0;
    options.faults.slow_message = 0;
    return options;
  }
  template <typename Condition>
  void RunUntil(Condition condition) {
    for (Millis until = now() + kMinute; !condition() && now() < until;) RunFor(10);
  }
  bool InSync(MemberId member) const { return store().now().isr.members.Contains(member); }

  static constexpr Millis kMinute = 60000;
  MemberId leader;
};

constexpr Millis kElection = Settings().election;

class MixTest : public testing::TestWithParam<Mix> {};

TEST_P(MixTest, NothingPromisedIsLost) {
  for (uint64_t seed = 1; seed <= 2500; ++seed) {
    SimulatorOptions options;
    options.seed = seed;
    options.members = seed % 2 == 0 ? 5 : 3;
    options.faults = GetParam().faults;
    Simulator simulator(options);
    ASSERT_EQ(simulator.Run(), "") << "./dev simulate --mix " << GetParam().name << " --members "
                                   << options.members << " --seed " << seed << " shows it";
  }
}

INSTANTIATE_TEST_SUITE_P(All, MixTest, testing::ValuesIn(AllMixes().begin(), AllMixes().end()),
                         [](const auto& one) { return std::string(one.param.name); });

TEST(SimulatorTest, ASeedIsARun) {
  auto trace = [](uint64_t seed) {
    std::ostringstream out;
    SimulatorOptions options;
    options.seed = seed;
    options.trace = &out;
    Simulator(options).Run();
    return out.str();
  };
  EXPECT_EQ(trace(7), trace(7));
  EXPECT_NE(trace(7), trace(8));
}

// A member outside the in-sync set that never heard of an epoch cuts what it has committed.
TEST(SimulatorTest, WhoCountsForNothingMayCutWhatIsCommitted) {
  SimulatorOptions options;
  options.seed = 1795064247902;
  options.members = 5;
  options.faults = FindMix("elections")->faults;
  Simulator simulator(options);
  EXPECT_EQ(simulator.Run(), "");
}

// With faults that leave a majority of folders and the store as they were.
TEST(SimulatorTest, WhenFaultsEndThereIsAPrimaryAndAllAreLevel) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SimulatorOptions options;
    options.seed = seed;
    options.members = seed % 2 == 0 ? 5 : 3;
    options.faults.wipe = options.faults.rot = options.faults.restore = 0;
    options.faults.store_back = options.faults.reconfig = options.faults.recover = 0;
    Simulator simulator(options);
    ASSERT_EQ(simulator.Run(), "");
    EXPECT_TRUE(simulator.Settles(40 * options.settings.election))
        << "members " << options.members << " seed " << seed << " " << simulator.violation();
  }
}

// A deposed leader's Join reaches a member that slept, and it cuts what the next leader has
// committed without it meanwhile. Before it counts again it has got that back.
TEST(CalmSetTest, AMemberThatSleptCutsWhatWasCommittedWithoutIt) {
  CalmSet set(10);
  const MemberId first = set.leader, sleeper = (first + 1) % 3, second = (first + 2) % 3;
  auto step_up = [&](MemberId member) {
    for (int i = 0; i < 100 && set.primary() != member; ++i) {
      set.Give(member, StepUpCommand{1});
      set.RunFor(100);
    }
  };
  // What the second misses is not committed.
  set.SetLink(first, second, false);
  set.SetLink(second, first, false);
  set.RunFor(200);
  set.StopClients();
  set.RunUntil([&] { return set.core(sleeper)->log().last() == set.core(first)->log().last(); });
  const Position tail = set.core(sleeper)->log().last();
  ASSERT_TRUE(set.core(first)->log().last() == tail);
  ASSERT_LT(set.core(first)->commit(), tail.time);
  // The second is elected, and ends when it has told the sleeper where their logs part.
  set.Give(second, StepUpCommand{1});
  const Epoch epoch = tail.epoch + 1;
  for (int i = 0; i < 1000 && set.core(sleeper)->epoch() < epoch; ++i) set.RunFor(1);
  ASSERT_EQ(set.core(sleeper)->epoch(), epoch);
  ASSERT_FALSE(set.core(sleeper)->joined());
  set.Pause(sleeper, 10 * CalmSet::kMinute);
  set.RunFor(30);
  set.Kill(second, false, false);
  // The first is elected again and commits with the second alone.
  set.SetLink(first, second, true);
  set.SetLink(second, first, true);
  set.Start(second);
  set.RunUntil([&] { return !set.core(first)->leading(); });
  step_up(first);
  ASSERT_EQ(set.core(first)->epoch(), epoch + 1);
  set.RunUntil([&] { return set.core(first)->commit() >= tail.time; });
  ASSERT_GE(set.core(first)->commit(), tail.time);
  ASSERT_FALSE(set.InSync(sleeper));
  const uint64_t cuts = set.counts().cuts;
  set.SetLink(first, sleeper, false);
  set.Pause(sleeper, 0);
  for (int i = 0; i < 10 && set.counts().cuts == cuts; ++i) set.RunFor(1);
  EXPECT_EQ(set.counts().cuts, cuts + 1);
  EXPECT_LT(set.core(sleeper)->log().last().time, tail.time);
  EXPECT_EQ(set.core(sleeper)->epoch(), epoch);
  EXPECT_EQ(set.violation(), "");
  // As a leader it would be found to lack it.
  set.SetLink(first, sleeper, true);
  set.RunUntil([&] { return set.InSync(sleeper); });
  step_up(sleeper);
  EXPECT_EQ(set.primary(), sleeper);
  EXPECT_EQ(set.violation(), "");
}

TEST(CalmSetTest, AKilledPrimaryIsReplacedWithoutAnElectionTimeout) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    CalmSet set(seed);
    set.Kill(set.leader, false, false);
    Millis killed = set.now();
    ASSERT_NE(set.AwaitPrimary(CalmSet::kMinute), kNoMember);
    EXPECT_LT(set.now() - killed, kElection / 3) << seed;
  }
}

TEST(CalmSetTest, APausedPrimaryIsReplacedAfterTheElectionTimeout) {
  CalmSet set(2);
  set.Pause(set.leader, CalmSet::kMinute);
  Epoch epoch = set.core(set.leader)->epoch();
  Millis paused = set.now();
  set.RunUntil([&] { return set.core(set.primary())->epoch() > epoch; });
  EXPECT_GE(set.now() - paused, kElection * 8 / 10);  // clocks differ by a tenth
  EXPECT_LT(set.now() - paused, kElection * 2);
}

TEST(CalmSetTest, ALostSecondaryLeavesTheInSyncSetAndComesBack) {
  CalmSet set(3);
  MemberId other = (set.leader + 1) % 3;
  set.Kill(other, true, false);
  set.RunUntil([&] { return !set.InSync(other); });
  EXPECT_FALSE(set.InSync(other));
  set.Start(other);
  set.RunUntil([&] { return set.InSync(other); });
  EXPECT_TRUE(set.InSync(other));
  EXPECT_EQ(set.primary(), set.leader);
  EXPECT_EQ(set.violation(), "");
}

TEST(CalmSetTest, AWipedSecondaryIsFilledAndComesBack) {
  CalmSet set(4);
  MemberId other = (set.leader + 1) % 3;
  set.Kill(other, true, false);
  set.Wipe(other);
  set.Start(other);
  auto back = [&] {
    return set.store().now().isr.members.Contains(
        InSyncMember{other, set.core(other)->local().data});
  };
  set.RunUntil(back);
  EXPECT_TRUE(back());
  EXPECT_EQ(set.violation(), "");
}

// The store is not in the way of writes, nor of a member that restarts.
TEST(CalmSetTest, WithoutTheStoreTheSetGoesOn) {
  CalmSet set(5);
  set.SetStore(false);
  const Core& core = *set.core(set.leader);
  Time commit = core.commit();
  set.RunFor(CalmSet::kMinute);
  EXPECT_EQ(set.primary(), set.leader);
  EXPECT_GT(core.commit(), commit);
  MemberId other = (set.leader + 1) % 3;
  set.Kill(other, true, false);
  set.Start(other);
  set.RunFor(2000);
  commit = core.commit();
  set.RunFor(CalmSet::kMinute);
  EXPECT_EQ(set.primary(), set.leader);
  EXPECT_GT(core.commit(), commit);
}

TEST(CalmSetTest, WithoutTheStoreAndAMemberInSyncThePrimaryStepsDown) {
  CalmSet set(5);
  set.SetStore(false);
  set.Kill((set.leader + 1) % 3, false, false);
  set.RunFor(kElection * 2);
  EXPECT_EQ(set.primary(), kNoMember);
  set.SetStore(true);
  EXPECT_NE(set.AwaitPrimary(CalmSet::kMinute), kNoMember);
}

// One of a minimal in-sync set is dead, another is far behind and still catching up: the leader
// proves by writes of the keys that it leads, and stays.
TEST(CalmSetTest, ALeaderThatWaitsForAMemberDoesNotFlap) {
  CalmSet set(6);
  MemberId dead = (set.leader + 1) % 3, late = (set.leader + 2) % 3;
  set.Kill(late, false, false);
  set.RunUntil([&] { return !set.InSync(late); });
  set.Kill(dead, false, false);
  set.Start(late);
  set.HangDisk(late, CalmSet::kMinute);  // answers beacons, acknowledges nothing
  uint64_t before = set.counts().step_downs;
  set.RunFor(CalmSet::kMinute);
  EXPECT_EQ(set.counts().step_downs, before);
  EXPECT_EQ(set.primary(), set.leader);
  set.RunUntil([&] { return set.InSync(late); });
  EXPECT_TRUE(set.InSync(late));
  EXPECT_FALSE(set.InSync(dead));
}

// Nobody is left to accept the epoch but folders that have never been in sync.
TEST(CalmSetTest, ARecoveryTakesInWhoLostItsDisk) {
  CalmSet set(7);
  const MemberId left = (set.leader + 1) % 3, other = (set.leader + 2) % 3;
  for (const MemberId lost : {set.leader, other}) {
    set.Kill(lost, false, false);
    set.Wipe(lost);
  }
  set.RunFor(2 * kElection);
  set.Give(left, RecoverCommand{1, true});
  set.Start(set.leader);
  set.Start(other);
  set.RunUntil(
      [&] { return set.primary() == left && set.InSync(set.leader) && set.InSync(other); });
  EXPECT_EQ(set.primary(), left);
  EXPECT_TRUE(set.InSync(set.leader));
  EXPECT_TRUE(set.InSync(other));
}

TEST(CalmSetTest, AMemberThatMayNotLeadKeepsThePlaceOfOneThatMay) {
  CalmSet set(8);
  MemberId away = (set.leader + 1) % 3, caretaker = (set.leader + 2) % 3;
  auto config = std::make_shared<SetConfig>(set.store().now().set());
  for (MemberConfig& member : config->members)
    if (member.id == caretaker) member.priority = 0;
  set.Give(set.leader, ReconfigCommand{1, config});
  set.RunFor(2000);
  set.Kill(away, false, false);
  set.RunUntil([&] { return !set.InSync(away); });
  set.Kill(set.leader, false, false);  // now only the caretaker is in sync
  set.Start(away);
  set.RunUntil([&] { return set.primary() == caretaker; });
  ASSERT_EQ(set.primary(), caretaker);
  EXPECT_FALSE(set.core(caretaker)->writable());
  EXPECT_NE(set.core(caretaker)->state(), MemberState::kPrimary);
  set.RunUntil([&] { return set.primary() == away; });
  EXPECT_EQ(set.primary(), away);
  EXPECT_TRUE(set.core(away)->writable());
  EXPECT_EQ(set.violation(), "");
}

TEST(CalmSetTest, AHigherPriorityTakesOver) {
  CalmSet set(9);
  MemberId higher = (set.leader + 1) % 3;
  auto config = std::make_shared<SetConfig>(set.store().now().set());
  for (MemberConfig& member : config->members)
    if (member.id == higher) member.priority = 2;
  set.Give(set.leader, ReconfigCommand{1, config});
  set.RunUntil([&] { return set.primary() == higher; });
  EXPECT_EQ(set.primary(), higher);
}

TEST(CalmSetTest, AfterAStepDownAnotherLeadsWithoutAnElectionTimeout) {
  for (const bool force : {false, true}) {
    CalmSet set(9);
    set.Give(set.leader, StepDownCommand{1, 60000, force ? 0 : 5000, force});
    Millis asked = set.now();
    set.RunUntil([&] { return set.primary() != set.leader && set.primary() != kNoMember; });
    EXPECT_NE(set.primary(), set.leader);
    EXPECT_LT(set.now() - asked, kElection / 2) << force;
  }
}

}  // namespace
}  // namespace quire::repl
