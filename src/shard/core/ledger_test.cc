// SPDX-License-Identifier: Apache-2.0
#include "shard/core/ledger.h"

#include <gtest/gtest.h>

namespace quire::shard {
namespace {

using placement::ShardVersion;

ShardVersion Version(uint32_t time, uint32_t major) {
  ShardVersion version;
  version.sharded = true;
  version.generation.timestamp.seconds = time;
  version.major = major;
  return version;
}

Known KnownAt(uint32_t time, uint32_t major) {
  return AfterAdoption({}, {.version = Version(time, major)});
}

TEST(LedgerTest, JudgesVersions) {
  const Known known = KnownAt(5, 3);
  EXPECT_EQ(JudgeVersion(known, Version(5, 3)), Verdict::kRun);
  EXPECT_EQ(JudgeVersion(known, Version(5, 2)), Verdict::kStale);
  EXPECT_EQ(JudgeVersion(known, Version(4, 9)), Verdict::kStale);
  EXPECT_EQ(JudgeVersion(known, Version(5, 4)), Verdict::kUnknown);
  EXPECT_EQ(JudgeVersion(known, Version(6, 1)), Verdict::kUnknown);
  EXPECT_EQ(JudgeVersion(known, ShardVersion::Unsharded()), Verdict::kStale);
  EXPECT_EQ(JudgeVersion(known, std::nullopt), Verdict::kRun);
}

TEST(LedgerTest, AGenerationThatIsGoneIsStale) {
  Known known = KnownAt(5, 3);
  known = AfterStep(known, {.stamp = {1, 1}, .phase = Phase::kCommitted, .placed = Placed{}});
  EXPECT_EQ(JudgeVersion(known, Version(5, 3)), Verdict::kStale);
  EXPECT_EQ(JudgeVersion(known, Version(6, 1)), Verdict::kUnknown);
  EXPECT_EQ(JudgeVersion(known, ShardVersion::Unsharded()), Verdict::kRun);
}

TEST(LedgerTest, StepsComeInOrder) {
  Known known;
  const Step prepare{.stamp = {2, 1}, .phase = Phase::kPrepared, .blocks = true};
  ASSERT_EQ(JudgeStep(known, prepare), StepVerdict::kTake);
  known = AfterStep(known, prepare);
  EXPECT_EQ(JudgeVersion(known, ShardVersion::Unsharded()), Verdict::kBlocked);
  EXPECT_EQ(JudgeStep(known, prepare), StepVerdict::kAlready);
  EXPECT_EQ(JudgeStep(known, {.stamp = {1, 7}, .phase = Phase::kCommitted}),
            StepVerdict::kOutOfDate);
  const Step undo{.stamp = {2, 2}, .phase = Phase::kUndone};
  EXPECT_TRUE(HasPrepared(known, undo.stamp));
  ASSERT_EQ(JudgeStep(known, undo), StepVerdict::kTake);
  known = AfterStep(known, undo);
  EXPECT_FALSE(known.blocked);
  EXPECT_EQ(JudgeStep(known, prepare), StepVerdict::kOutOfDate);
  EXPECT_EQ(JudgeStep(known, {.stamp = {3, 1}, .phase = Phase::kPrepared}), StepVerdict::kTake);
}

TEST(LedgerTest, AdoptsWhatIsNewerAlone) {
  const Known known = KnownAt(5, 3);
  EXPECT_FALSE(MayAdopt(known, {.version = Version(5, 3)}));
  EXPECT_FALSE(MayAdopt(known, {.version = Version(5, 2)}));
  EXPECT_TRUE(MayAdopt(known, {.version = Version(5, 4)}));
  Known blocked = known;
  blocked.blocked = true;
  EXPECT_FALSE(MayAdopt(blocked, {.version = Version(5, 4)}));
}

}  // namespace
}  // namespace quire::shard
