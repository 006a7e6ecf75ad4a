// SPDX-License-Identifier: Apache-2.0
#include "repl/core/proposals.h"

#include <gtest/gtest.h>

namespace quire::repl {
namespace {

View Keys(Counter counter, std::vector<InSyncMember> in_sync, uint64_t attempt = 0) {
  View view;
  auto config = std::make_shared<SetConfig>();
  for (MemberId id = 0; id < 5; ++id) config->members.emplace_back().id = id;
  view.config.config = config;
  for (const InSyncMember& member : in_sync) view.isr.members.Add(member);
  view.isr.version = {static_cast<int64_t>(counter), {1, attempt}};
  view.stamp = {counter, {1, attempt}};
  return view;
}

class ProposalsTest : public testing::Test {
 protected:
  void Open(const View& wanted) {
    proposals_.Open({VersionsOf(proposals_.confirmed()), wanted, {1, 2}});
  }

  Rules rules_;
  Proposals proposals_{rules_};
};

TEST_F(ProposalsTest, BothOutcomesCountWhileOneIsOpen) {
  proposals_.Reset(Keys(1, {{0, 10}, {1, 11}, {2, 12}}, 1));
  Open(Keys(2, {{0, 10}, {1, 11}, {3, 13}}));
  EXPECT_EQ(proposals_.Largest().size(), 4);
  EXPECT_TRUE(proposals_.Largest().Contains(InSyncMember{2, 12}));
  EXPECT_TRUE(proposals_.Largest().Contains(InSyncMember{3, 13}));
  EXPECT_FALSE(proposals_.Largest().Contains(InSyncMember{3, 14}));
}

TEST_F(ProposalsTest, ANewFolderOfAMemberDoesNotStandForTheOldOne) {
  proposals_.Reset(Keys(1, {{0, 10}, {1, 11}, {2, 12}}, 1));
  Open(Keys(2, {{0, 10}, {1, 11}, {2, 99}}));
  EXPECT_TRUE(proposals_.Largest().Contains(InSyncMember{2, 12}));
  EXPECT_TRUE(proposals_.Largest().Contains(InSyncMember{2, 99}));
}

TEST_F(ProposalsTest, IsDecidedWhenTheVersionsDiffer) {
  View before = Keys(1, {{0, 10}, {1, 11}, {2, 12}}, 1);
  proposals_.Reset(before);
  Open(Keys(2, {{0, 10}, {1, 11}}));
  EXPECT_FALSE(proposals_.Learn(before));  // the request may still be on its way
  EXPECT_TRUE(proposals_.open());
  EXPECT_TRUE(proposals_.Learn(Keys(2, {{0, 10}, {1, 11}, {2, 12}}, 7)));  // another write won
  EXPECT_FALSE(proposals_.open());
  EXPECT_EQ(proposals_.Largest().size(), 3);
}

TEST_F(ProposalsTest, WhatIsOlderThanKnownSaysNothing) {
  proposals_.Reset(Keys(5, {{0, 10}, {1, 11}, {2, 12}}, 1));
  EXPECT_FALSE(proposals_.Learn(Keys(4, {{0, 10}}, 0)));
  EXPECT_FALSE(proposals_.Learn(Keys(5, {{0, 10}}, 2)));  // the same number: the store went back
  EXPECT_EQ(proposals_.confirmed().isr.members.size(), 3);
}

TEST_F(ProposalsTest, AnOpenReconfigCountsWithBothMajorities) {
  proposals_.Reset(Keys(1, {{0, 10}, {1, 11}, {2, 12}}, 1));
  View wanted = Keys(2, {{0, 10}, {1, 11}, {2, 12}});
  auto config = std::make_shared<SetConfig>(wanted.set());
  config->members.resize(3);
  wanted.config.config = config;
  Open(wanted);
  EXPECT_EQ(proposals_.Needed(), 3);
  EXPECT_EQ(proposals_.SmallestMajority(), 2);
}

}  // namespace
}  // namespace quire::repl
