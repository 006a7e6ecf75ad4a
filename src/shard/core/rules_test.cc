// SPDX-License-Identifier: Apache-2.0
//
// Every rule is needed: without it the simulator finds a loss, within a fixed range of seeds. With
// all rules on the same schedules lose nothing.
#include "shard/core/rules.h"

#include <gtest/gtest.h>

#include <string>

#include "shard/core/testing/simulator.h"

namespace quire::shard {
namespace {

struct Case {
  const char* name;
  bool Rules::*rule;
  bool sparse = false;         // few writes: ranges stay empty, and move
  bool Rules::*too = nullptr;  // switched off as well: the two back each other up
  double repeated = 0;         // of retryable writes
};

#define QUIRE_CASE(rule, ...) \
  { #rule, &Rules::rule, ##__VA_ARGS__ }
const Case kCases[] = {
    QUIRE_CASE(unsharded_is_a_version),
    QUIRE_CASE(refuse_older),
    QUIRE_CASE(compare_majors, true),
    QUIRE_CASE(generations_survive_drops, true, &Rules::adopt_facts),
    QUIRE_CASE(adopt_facts, true, &Rules::generations_survive_drops),
    QUIRE_CASE(block_before_decision),
    QUIRE_CASE(gain_after_decision, true),
    QUIRE_CASE(blocked_until_outcome, true),
    QUIRE_CASE(block_is_logged),
    QUIRE_CASE(pass_with_check),
    QUIRE_CASE(drain_before_look),
    QUIRE_CASE(drain_before_drop),
    QUIRE_CASE(direct_writes_pass),
    QUIRE_CASE(answers_go_first, true, nullptr, 0.05),
    QUIRE_CASE(refuse_old_steps),
    QUIRE_CASE(undo_what_was_prepared),
    QUIRE_CASE(numbers_for_ever),
    QUIRE_CASE(steps_name_uuids, false, &Rules::refuse_old_steps),
    QUIRE_CASE(settle_by_write),
    QUIRE_CASE(all_prepared),
    QUIRE_CASE(finish_forward),
    QUIRE_CASE(answer_after_finish),
};
#undef QUIRE_CASE

constexpr uint64_t kSeeds = 1500;

std::string RunSeed(const Case& one, uint64_t seed, const Rules& rules) {
  SimulatorOptions options;
  options.seed = seed;
  options.rules = rules;
  options.repeated = one.repeated;
  if (one.sparse) {
    options.writes = 0.01;
    options.changes = 0.05;
  }
  return Simulator(options).Run();
}

class RuleTest : public testing::TestWithParam<Case> {};

TEST_P(RuleTest, IsNeeded) {
  const Case& one = GetParam();
  Rules without;
  without.*one.rule = false;
  if (one.too != nullptr) {
    without.*one.too = false;
  }
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const std::string loss = RunSeed(one, seed, without);
    if (!loss.empty()) {
      std::cout << one.name << ": " << loss << " after " << seed << " schedules\n";
      EXPECT_EQ(RunSeed(one, seed, {}), "") << "seed " << seed;
      return;
    }
  }
  ADD_FAILURE() << "no loss in " << kSeeds << " schedules";
}

INSTANTIATE_TEST_SUITE_P(All, RuleTest, testing::ValuesIn(kCases),
                         [](const auto& one) { return std::string(one.param.name); });

TEST(SimulatorTest, LosesNothing) {
  SimulatorCounts sum;
  for (uint64_t seed = 1; seed <= 600; ++seed) {
    SimulatorOptions options;
    options.seed = seed;
    if (seed % 2 == 0) {
      options.writes = 0.01;
      options.changes = 0.05;
    }
    options.repeated = seed % 3 == 0 ? 0.05 : 0;
    Simulator simulator(options);
    ASSERT_EQ(simulator.Run(), "") << "seed " << seed;
    sum.writes += simulator.counts().writes;
    sum.reads += simulator.counts().reads;
    sum.changes += simulator.counts().changes;
    sum.undone += simulator.counts().undone;
  }
  // The schedules do something.
  EXPECT_GT(sum.writes, 10000U);
  EXPECT_GT(sum.reads, 10000U);
  EXPECT_GT(sum.changes, 1000U);
  EXPECT_GT(sum.undone, 1000U);
}

}  // namespace
}  // namespace quire::shard
