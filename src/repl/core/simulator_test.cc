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

SimulatorOptions Calm(uint64_t seed, int members = 3) {
  SimulatorOptions options;
  options.seed = seed;
  options.members = members;
  options.vary = false;
  options.faults.between = 0;
  return options;
}

class MixTest : public testing::TestWithParam<Mix> {};

TEST_P(MixTest, NothingPromisedIsLost) {
  for (uint64_t seed = 1; seed <= 1500; ++seed) {
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

TEST(SimulatorTest, AKilledPrimaryIsReplacedLongBeforeTheElectionTimeout) {
  int quick = 0;
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    SimulatorOptions options = Calm(seed);
    Simulator simulator(options);
    simulator.AwaitPrimary(1000);
    simulator.RunFor(300);
    MemberId first = simulator.AwaitPrimary(1000);
    simulator.Kill(first, false, false);
    Millis killed = simulator.now();
    ASSERT_NE(simulator.AwaitPrimary(2000), kNoMember);
    if (simulator.now() - killed < options.settings.election) ++quick;
  }
  EXPECT_GT(quick, 25);  // a refusing port is seen by six of ten
}

TEST(SimulatorTest, ALostSecondaryLeavesTheInSyncSetAndComesBack) {
  Simulator simulator(Calm(3));
  simulator.AwaitPrimary(1000);
  simulator.RunFor(300);
  MemberId other = (simulator.AwaitPrimary(1000) + 1) % 3;
  simulator.Kill(other, true, false);
  simulator.RunFor(300);
  EXPECT_FALSE(simulator.store().now().isr.members.Contains(other));
  simulator.Start(other);
  simulator.RunFor(500);
  EXPECT_TRUE(simulator.store().now().isr.members.Contains(other));
  EXPECT_EQ(simulator.violation(), "");
}

// The store is not in the way of writes, nor of a member that restarts.
TEST(SimulatorTest, WithoutTheStoreTheSetGoesOn) {
  SimulatorOptions options = Calm(5);
  options.settings.slow = 10000;
  Simulator simulator(options);
  simulator.AwaitPrimary(1000);
  simulator.RunFor(300);
  MemberId leader = simulator.AwaitPrimary(1000);
  Time commit = simulator.core(leader)->commit();
  simulator.SetStore(false);
  simulator.RunFor(500);
  EXPECT_EQ(simulator.primary(), leader);
  EXPECT_GT(simulator.core(leader)->commit(), commit);
  MemberId other = (leader + 1) % 3;
  simulator.Kill(other, true, false);
  simulator.Start(other);
  simulator.RunFor(60);
  commit = simulator.core(leader)->commit();
  simulator.RunFor(200);
  EXPECT_EQ(simulator.primary(), leader);
  EXPECT_GT(simulator.core(leader)->commit(), commit);
}

// One of a minimal in-sync set is dead, another is far behind and still catching up: the leader
// proves by writes of the keys that it leads, and stays.
TEST(SimulatorTest, ALeaderThatWaitsForAMemberDoesNotFlap) {
  SimulatorOptions options = Calm(6);
  options.faults.lost_store_answer = options.faults.lost_store_request = 0;
  Simulator simulator(options);
  simulator.AwaitPrimary(1000);
  simulator.RunFor(300);
  MemberId leader = simulator.AwaitPrimary(1000);
  MemberId dead = (leader + 1) % 3, late = (leader + 2) % 3;
  simulator.Kill(late, false, false);
  for (int i = 0; i < 300 && simulator.store().now().isr.members.Contains(late); ++i)
    simulator.RunFor(1);
  simulator.Kill(dead, false, false);
  simulator.Start(late);
  simulator.HangDisk(late, 1000);  // answers beacons, acknowledges nothing
  uint64_t before = simulator.counts().step_downs;
  simulator.RunFor(900);
  EXPECT_EQ(simulator.counts().step_downs, before);
  EXPECT_EQ(simulator.primary(), leader);
  simulator.RunFor(600);
  EXPECT_TRUE(simulator.store().now().isr.members.Contains(late));
  EXPECT_FALSE(simulator.store().now().isr.members.Contains(dead));
}

TEST(SimulatorTest, AMemberThatMayNotLeadKeepsThePlaceOfOneThatMay) {
  Simulator simulator(Calm(8));
  simulator.AwaitPrimary(1000);
  simulator.RunFor(300);
  MemberId leader = simulator.AwaitPrimary(1000);
  MemberId away = (leader + 1) % 3, caretaker = (leader + 2) % 3;
  auto config = std::make_shared<SetConfig>(simulator.store().now().set());
  for (MemberConfig& member : config->members)
    if (member.id == caretaker) member.priority = 0;
  simulator.Give(leader, ReconfigCommand{1, config});
  simulator.RunFor(100);
  simulator.Kill(away, false, false);
  for (int i = 0; i < 300 && simulator.store().now().isr.members.Contains(away); ++i)
    simulator.RunFor(1);
  simulator.Kill(leader, false, false);  // now only the caretaker is in sync
  simulator.Start(away);
  for (int i = 0; i < 2000 && simulator.primary() != caretaker; ++i) simulator.RunFor(1);
  ASSERT_EQ(simulator.primary(), caretaker);
  EXPECT_FALSE(simulator.core(caretaker)->writable());
  EXPECT_NE(simulator.core(caretaker)->state(), MemberState::kPrimary);
  for (int i = 0; i < 2000 && simulator.primary() != away; ++i) simulator.RunFor(1);
  EXPECT_EQ(simulator.primary(), away);
  EXPECT_EQ(simulator.violation(), "");
}

TEST(SimulatorTest, AfterAStepDownAnotherLeadsWithoutAnElectionTimeout) {
  SimulatorOptions options = Calm(9);
  Simulator simulator(options);
  simulator.AwaitPrimary(1000);
  simulator.RunFor(300);
  MemberId leader = simulator.AwaitPrimary(1000);
  simulator.Give(leader, StepDownCommand{1, 1000, 200, false});
  Millis asked = simulator.now();
  while (simulator.primary() == leader && simulator.now() < asked + 200) simulator.RunFor(1);
  MemberId next = simulator.AwaitPrimary(1000);
  EXPECT_NE(next, leader);
  EXPECT_LT(simulator.now() - asked, options.settings.election);
}

}  // namespace
}  // namespace quire::repl
