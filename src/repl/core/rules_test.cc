// SPDX-License-Identifier: Apache-2.0
//
// Every rule is needed: without it the simulator finds a loss, within a fixed range of seeds. With
// all rules on the same schedules lose nothing.
#include "repl/core/rules.h"

#include <gtest/gtest.h>

#include <string>

#include "repl/core/testing/mixes.h"
#include "repl/core/testing/scenarios.h"

namespace quire::repl {
namespace {

struct Case {
  const char* name;
  bool Rules::*rule;
  const char* faults;          // a mix or a scenario
  uint64_t first;              // seed
  uint64_t count;              // of seeds in which the loss has to show
  bool Rules::*too = nullptr;  // switched off as well: the two back each other up
};

#define QUIRE_CASE(rule, ...) \
  { #rule, &Rules::rule, __VA_ARGS__ }
const Case kCases[] = {
    QUIRE_CASE(refuse_old_epochs, "woken_leader", 1, 500),
    QUIRE_CASE(compare_leader, "unheard_leader", 1, 100, &Rules::epoch_known_by_majority),
    QUIRE_CASE(ack_after_sync, "slow_disks", 1, 1000),
    QUIRE_CASE(leader_counts_synced, "all", 500, 1000),
    QUIRE_CASE(boot_ends_leadership, "all", 1, 500),
    QUIRE_CASE(check_previous, "all", 1, 100),
    QUIRE_CASE(cut_holes_at_start, "all", 1, 500),
    QUIRE_CASE(cut_holes_at_step_down, "all", 1, 1000),
    QUIRE_CASE(count_open_additions, "elections", 1, 8000),
    QUIRE_CASE(count_open_removals, "elections", 1, 500),
    QUIRE_CASE(open_until_decided, "late_addition", 1, 200),
    QUIRE_CASE(refusal_decides_nothing, "elections", 1, 8000),
    QUIRE_CASE(join_at_commit, "early_join", 1, 100, &Rules::floor),
    QUIRE_CASE(join_at_epoch_start, "slow_followers", 1, 8000),
    QUIRE_CASE(join_after_handshake, "elections", 300, 1000),
    QUIRE_CASE(cut_by_epochs, "elections", 1, 1000),
    QUIRE_CASE(only_in_sync_lead, "all", 1, 500),
    QUIRE_CASE(data_ids, "wiped_disks", 1, 8000),
    QUIRE_CASE(positions_by_data, "wiped_member", 1, 200, &Rules::floor),
    QUIRE_CASE(floor, "old_disks", 1, 1000),
    QUIRE_CASE(acked_file, "old_disks", 1, 500),
    QUIRE_CASE(waiters_by_epoch, "elections", 1, 200),
    QUIRE_CASE(empty_replies_wait, "all", 1, 200),
    QUIRE_CASE(sync_generations, "late_sync", 1, 1000),
    QUIRE_CASE(commit_after_join, "all", 1, 500),
    QUIRE_CASE(former_leader_reads, "all", 1, 200),
    QUIRE_CASE(linearizable_writes, "sleepers", 1, 8000),
    QUIRE_CASE(numbers_wait_for_commit, "elections", 1, 500, &Rules::numbers_wait_for_apply),
    QUIRE_CASE(numbers_wait_for_apply, "elections", 1, 500, &Rules::numbers_wait_for_commit),
    QUIRE_CASE(ack_counters, "forgotten_removal", 1, 1000),
    QUIRE_CASE(ballot_counters, "store_back", 1, 8000),
    QUIRE_CASE(epoch_known_by_majority, "forgotten_ballot", 1, 200),
    QUIRE_CASE(epoch_before_changes, "forgotten_promise", 1, 500),
    QUIRE_CASE(epoch_before_changes, "outgrown_counter", 1, 500),
    QUIRE_CASE(removal_by_reconfig_counts, "reconfigs", 1, 1000),
    QUIRE_CASE(reconfig_adds_nobody, "early_vote", 1, 100, &Rules::floor),
    QUIRE_CASE(recover_longest, "recoveries", 100, 1000),
    QUIRE_CASE(recover_fences, "hasty_recovery", 1, 1000),
};
#undef QUIRE_CASE

std::string RunSeed(const Case& one, uint64_t seed, const Rules& rules) {
  SimulatorOptions options;
  options.seed = seed;
  options.rules = rules;
  options.losses_only = !(rules.*one.rule);
  if (const Mix* mix = FindMix(one.faults)) {
    options.members = seed % 2 == 0 ? 5 : 3;
    options.faults = mix->faults;
    return Simulator(options).Run();
  }
  return RunScenario(one.faults, options);
}

class RuleTest : public testing::TestWithParam<Case> {};

TEST_P(RuleTest, IsNeeded) {
  const Case& one = GetParam();
  Rules without;
  without.*one.rule = false;
  if (one.too != nullptr) without.*one.too = false;
  for (uint64_t seed = one.first; seed < one.first + one.count; ++seed) {
    std::string loss = RunSeed(one, seed, without);
    if (loss.empty()) continue;
    std::cout << one.name << ": " << loss << " after " << seed - one.first + 1 << " schedules\n";
    EXPECT_EQ(RunSeed(one, seed, {}), "") << "seed " << seed;
    return;
  }
  ADD_FAILURE() << "no loss in " << one.count << " schedules from seed " << one.first;
}

INSTANTIATE_TEST_SUITE_P(All, RuleTest, testing::ValuesIn(kCases), [](const auto& one) {
  return one.param.name + std::string("_") + one.param.faults;
});

}  // namespace
}  // namespace quire::repl
