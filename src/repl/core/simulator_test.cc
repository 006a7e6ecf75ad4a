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
