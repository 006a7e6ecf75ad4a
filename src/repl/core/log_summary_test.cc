// SPDX-License-Identifier: Apache-2.0
#include "repl/core/log_summary.h"

#include <gtest/gtest.h>

namespace quire::repl {
namespace {

LogSummary Log(std::vector<Position> ends, Position begin = {}) {
  return {begin, std::move(ends), 0};
}

TEST(LogSummaryTest, SlotsAreLinkedUpToTheFirstHole) {
  std::vector<Slot> slots = {{{1, 5}, 0}, {{1, 7}, 5}, {{2, 9}, 8}, {{2, 10}, 9}};
  EXPECT_EQ(LinkedSlots(0, slots), 2u);  // 8 is missing
  slots[2].previous = 7;
  EXPECT_EQ(LinkedSlots(0, slots), 4u);
  EXPECT_EQ(LinkedSlots(4, slots), 0u);
  EXPECT_EQ(LinkedSlots(0, {}), 0u);
}

TEST(LogSummaryTest, CommonSlotIsFoundByTheEndsOfEpochs) {
  struct Case {
    LogSummary one, other;
    Position common;
  };
  const Case cases[] = {
      {Log({{1, 10}}), Log({{1, 10}}), {1, 10}},
      {Log({{1, 10}}), Log({{1, 7}}), {1, 7}},                      // one is longer
      {Log({{1, 10}, {3, 20}}), Log({{1, 12}, {2, 15}}), {1, 10}},  // 11, 12 and epoch 2 were lost
      {Log({{1, 10}, {3, 20}}), Log({{3, 20}}, {1, 10}), {3, 20}},  // the other is trimmed
      {Log({{2, 20}}), Log({{1, 5}}), {}},                          // nothing in common
      {Log({}, {2, 20}), Log({{1, 5}, {2, 25}}), {2, 20}},          // a begin is an end, too
      {Log({}), Log({{1, 5}}), {}},
      {Log({{1, 5}, {4, 9}}), Log({{1, 5}, {2, 6}, {3, 8}}), {1, 5}},
  };
  for (const Case& one : cases) {
    EXPECT_EQ(CommonSlot(one.one, one.other), one.common);
    EXPECT_EQ(CommonSlot(one.other, one.one), one.common);
  }
}

TEST(LogSummaryTest, CutDropsWhatLiesBehind) {
  LogSummary log = Log({{1, 10}, {2, 20}, {4, 30}});
  log.Cut({2, 15});
  EXPECT_EQ(log.ends, (std::vector<Position>{{1, 10}, {2, 15}}));
  log.Cut({1, 10});
  EXPECT_EQ(log.last(), (Position{1, 10}));
  log.Cut({0, 0});
  EXPECT_EQ(log.last(), Position());
  log = Log({{2, 20}}, {1, 10});
  log.Cut({1, 10});
  EXPECT_EQ(log.last(), (Position{1, 10}));
}

TEST(LogSummaryTest, TrimRemovesTheFront) {
  LogSummary log = Log({{1, 10}, {2, 20}});
  log.Trim({1, 10});
  EXPECT_EQ(log.begin, (Position{1, 10}));
  EXPECT_EQ(log.ends, (std::vector<Position>{{2, 20}}));
  log.Trim({1, 5});  // already gone
  EXPECT_EQ(log.begin, (Position{1, 10}));
  log.Trim({2, 20});
  EXPECT_EQ(log.last(), (Position{2, 20}));
}

TEST(LogSummaryTest, ARunEndsWithItsEpoch) {
  LogSummary log = Log({{1, 10}, {2, 20}});
  EXPECT_EQ(log.RunAfter({1, 4}), (Position{1, 10}));
  EXPECT_EQ(log.RunAfter({1, 10}), (Position{2, 20}));
}

}  // namespace
}  // namespace quire::repl
