// SPDX-License-Identifier: Apache-2.0
#include "shard/change/left_outs.h"

#include <gtest/gtest.h>

namespace quire::shard {
namespace {

using Clock = RoutersSeen::Clock;

TEST(RoutersSeenTest, OneWhosePlaceAnotherHasTakenIsGone) {
  RoutersSeen routers;
  const Clock::time_point begin;
  routers.Look({{"a", 1}}, begin);
  EXPECT_FALSE(routers.IsGone("a", begin));
  routers.Look({{"b", 2}}, begin);
  EXPECT_FALSE(routers.IsGone("a", begin));
  EXPECT_FALSE(routers.IsGone("a", begin + RoutersSeen::kAbsent / 2));
  EXPECT_TRUE(routers.IsGone("a", begin + RoutersSeen::kAbsent));
  EXPECT_FALSE(routers.IsGone("b", begin + RoutersSeen::kAbsent));
}

TEST(RoutersSeenTest, OneThatComesBackIsNotGone) {
  RoutersSeen routers;
  const Clock::time_point begin;
  EXPECT_FALSE(routers.IsGone("a", begin));
  routers.Look({{"a", 1}}, begin + RoutersSeen::kAbsent);
  EXPECT_FALSE(routers.IsGone("a", begin + RoutersSeen::kAbsent));
  routers.Look({}, begin + RoutersSeen::kAbsent);
  EXPECT_FALSE(routers.IsGone("a", begin + RoutersSeen::kAbsent));
}

TEST(RoutersSeenTest, OneThatIsSilentForLongIsGone) {
  RoutersSeen routers;
  const Clock::time_point begin;
  routers.Look({{"a", 1}, {"b", 1}}, begin);
  routers.Look({{"a", 2}, {"b", 1}}, begin + RoutersSeen::kSilent / 2);
  EXPECT_TRUE(routers.IsGone("b", begin + RoutersSeen::kSilent));
  EXPECT_FALSE(routers.IsGone("a", begin + RoutersSeen::kSilent));
}

}  // namespace
}  // namespace quire::shard
