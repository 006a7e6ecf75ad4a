// SPDX-License-Identifier: Apache-2.0
#include "repl/core/write_concern.h"

#include <gtest/gtest.h>

namespace quire::repl {
namespace {

using Kind = WriteConcern::Kind;

SetConfig Config() {
  SetConfig config;
  for (MemberId id = 0; id < 5; ++id) config.members.emplace_back().id = id;
  config.members[3].votes = config.members[4].votes = false;
  const char* const places[] = {"east", "east", "west", "west", "south"};
  for (size_t i = 0; i < 5; ++i) config.members[i].tags = {{"dc", places[i]}};
  config.modes = {{"twoPlaces", {{"dc", 2}}}, {"fourPlaces", {{"dc", 4}}}};
  return config;
}

TEST(WriteConcernTest, WhatNoSetCanMeetIsRefused) {
  SetConfig config = Config();
  EXPECT_EQ(CheckWriteConcern(config, {Kind::kNumber, 5, "", 0, {}}), 0);
  EXPECT_EQ(CheckWriteConcern(config, {Kind::kNumber, 6, "", 0, {}}), kUnsatisfiableWriteConcern);
  EXPECT_EQ(CheckWriteConcern(config, {Kind::kMode, 1, "twoPlaces", 0, {}}), 0);
  EXPECT_EQ(CheckWriteConcern(config, {Kind::kMode, 1, "fourPlaces", 0, {}}),
            kUnsatisfiableWriteConcern);
  EXPECT_EQ(CheckWriteConcern(config, {Kind::kMode, 1, "other", 0, {}}), kUnknownReplWriteConcern);
  EXPECT_EQ(CheckWriteConcern(config, {Kind::kTags, 1, "", 0, {{"dc", 3}}}), 0);
  EXPECT_EQ(CheckWriteConcern(config, {Kind::kTags, 1, "", 0, {{"dc", 4}}}),
            kUnsatisfiableWriteConcern);
  EXPECT_EQ(CheckWriteConcern(config, {Kind::kTags, 1, "", 0, {{"rack", 1}}}), kNoSuchKey);
}

TEST(WriteConcernTest, NumbersCountEveryMemberAndWaitForCommitFromAMajorityOn) {
  SetConfig config = Config();
  std::vector<Held> held = {{0, 10}, {3, 10}, {1, 4}};
  auto meets = [&](int number, Time commit) {
    return MeetsWriteConcern(config, {Kind::kNumber, number, "", 0, {}}, 10, commit, held,
                             config.Majority());
  };
  EXPECT_TRUE(meets(1, 0));
  EXPECT_FALSE(meets(2, 9));  // held by two, but not committed
  EXPECT_TRUE(meets(2, 10));
  EXPECT_FALSE(meets(3, 10));
  held.push_back({9, 10});  // not of the set any more
  EXPECT_FALSE(meets(3, 10));
}

TEST(WriteConcernTest, MajorityIsTheCommitPoint) {
  SetConfig config = Config();
  std::vector<Held> held = {{0, 10}, {1, 10}, {2, 10}};
  EXPECT_FALSE(MeetsWriteConcern(config, {}, 10, 9, held, 2));
  EXPECT_TRUE(MeetsWriteConcern(config, {}, 10, 10, {}, 2));
}

TEST(WriteConcernTest, ModesCountDifferentValuesOfTags) {
  SetConfig config = Config();
  for (const WriteConcern& concern : {WriteConcern{Kind::kMode, 1, "twoPlaces", 0, {}},
                                      WriteConcern{Kind::kTags, 1, "", 0, {{"dc", 2}}}}) {
    std::vector<Held> held = {{0, 10}, {1, 10}, {2, 9}};
    EXPECT_FALSE(MeetsWriteConcern(config, concern, 10, 0, held, 2));
    held.push_back({4, 11});
    EXPECT_TRUE(MeetsWriteConcern(config, concern, 10, 0, held, 2));
  }
}

}  // namespace
}  // namespace quire::repl
