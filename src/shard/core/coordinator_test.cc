// SPDX-License-Identifier: Apache-2.0
#include "shard/core/coordinator.h"

#include <gtest/gtest.h>

namespace quire::shard {
namespace {

using State = Coordinator::State;

// A store that does what it is asked, at once.
struct Store {
  LockSeen seen;

  void Do(Coordinator& c) {
    if (seen.revision != c.expected()) {
      c.Wrote(WriteOutcome::kRefused, seen);
      return;
    }
    seen = {seen.revision + 1, c.wanted()};
    c.Wrote(WriteOutcome::kDone, seen);
  }
};

const std::set<ShardName> kAll = {"a", "b", "c"};

TEST(CoordinatorTest, PreparesThePrimaryFirstAndFinishesItLast) {
  Store store;
  Coordinator c(store.seen, "x", "b", kAll);
  ASSERT_EQ(c.state(), State::kTaking);
  store.Do(c);
  ASSERT_EQ(c.state(), State::kPreparing);
  EXPECT_EQ(c.next(), std::set<ShardName>{"b"});
  c.Answered("b", Phase::kPrepared, StepAnswer::kDone);
  EXPECT_EQ(c.next(), (std::set<ShardName>{"a", "c"}));
  c.Answered("a", Phase::kPrepared, StepAnswer::kDone);
  c.Answered("c", Phase::kPrepared, StepAnswer::kUnknown);
  EXPECT_EQ(c.next(), std::set<ShardName>{"c"});
  c.Answered("c", Phase::kPrepared, StepAnswer::kDone);
  ASSERT_EQ(c.state(), State::kDeciding);
  EXPECT_FALSE(c.answers());
  store.Do(c);
  ASSERT_EQ(c.state(), State::kFinishing);
  EXPECT_EQ(c.next(), (std::set<ShardName>{"a", "c"}));
  c.Answered("a", Phase::kCommitted, StepAnswer::kDone);
  c.Answered("c", Phase::kCommitted, StepAnswer::kDone);
  EXPECT_EQ(c.next(), std::set<ShardName>{"b"});
  c.Answered("b", Phase::kCommitted, StepAnswer::kDone);
  ASSERT_EQ(c.state(), State::kReleasing);
  EXPECT_TRUE(c.answers());
  store.Do(c);
  EXPECT_EQ(c.state(), State::kEnded);
  EXPECT_TRUE(c.committed());
  EXPECT_TRUE(store.seen.lock.over);
  EXPECT_EQ(store.seen.lock.stamp, (Stamp{1, 1}));
}

LockSeen Seen(int64_t revision, bool over, const std::string& nonce) {
  return {revision, {.stamp = {7, 1}, .phase = Phase::kPrepared, .over = over, .nonce = nonce}};
}

TEST(CoordinatorTest, AnyLockThatAnotherChangeHasIsBusy) {
  EXPECT_EQ(MostTelling({Seen(3, true, "y"), Seen(5, false, "z")}, "x").revision, 5);
  EXPECT_EQ(MostTelling({Seen(3, false, "x"), Seen(5, false, "x")}, "x").revision, 3);
  EXPECT_EQ(MostTelling({Seen(3, true, "y"), Seen(5, true, "z")}, "x").revision, 3);
  Coordinator c({2, {}}, "x", "a", kAll);
  c.Wrote(WriteOutcome::kRefused, MostTelling({Seen(3, true, "y"), Seen(5, false, "z")}, "x"));
  EXPECT_EQ(c.state(), State::kBusy);
}

TEST(CoordinatorTest, ARefusalIsUndoneEverywhere) {
  Store store;
  Coordinator c(store.seen, "x", "a", kAll);
  store.Do(c);
  c.Answered("a", Phase::kPrepared, StepAnswer::kDone);
  c.Answered("b", Phase::kPrepared, StepAnswer::kRefused);
  ASSERT_EQ(c.state(), State::kAborting);
  store.Do(c);
  ASSERT_EQ(c.state(), State::kUndoing);
  EXPECT_EQ(c.next(), kAll);
  for (const ShardName& shard : kAll) {
    c.Answered(shard, Phase::kUndone, StepAnswer::kDone);
  }
  store.Do(c);
  EXPECT_EQ(c.state(), State::kEnded);
  EXPECT_FALSE(c.committed());
}

// The write happened, its answer was lost: an abort finds that out.
TEST(CoordinatorTest, AnAbortAfterALostAnswerFindsTheDecision) {
  Store store;
  Coordinator c(store.seen, "x", "a", {"a"});
  store.Do(c);
  c.Answered("a", Phase::kPrepared, StepAnswer::kDone);
  store.seen = {store.seen.revision + 1, c.wanted()};
  c.Wrote(WriteOutcome::kUnknown, {});
  c.Abort();
  ASSERT_EQ(c.state(), State::kAborting);
  store.Do(c);
  EXPECT_EQ(c.state(), State::kFinishing);
}

TEST(CoordinatorTest, WaitsForNobodyElsesLock) {
  Store store;
  Coordinator first(store.seen, "x", "a", {"a"});
  Coordinator second(store.seen, "y", "a", {"a"});
  store.Do(first);
  store.Do(second);
  EXPECT_EQ(second.state(), State::kBusy);
}

TEST(CoordinatorTest, WhoResumesUndoesWhatIsUndecided) {
  Store store;
  Coordinator first(store.seen, "x", "a", {"a", "b"});
  store.Do(first);
  first.Answered("a", Phase::kPrepared, StepAnswer::kDone);
  Coordinator second = Coordinator::Resume(store.seen, "y", "a", {"a", "b"});
  store.Do(second);
  ASSERT_EQ(second.state(), State::kAborting);
  EXPECT_EQ(second.stamp(), (Stamp{1, 2}));
  first.Answered("b", Phase::kPrepared, StepAnswer::kDone);
  store.Do(first);
  EXPECT_EQ(first.state(), State::kLost);
  store.Do(second);
  EXPECT_EQ(second.state(), State::kUndoing);
}

TEST(CoordinatorTest, WhoResumesFinishesWhatIsDecided) {
  Store store;
  Coordinator first(store.seen, "x", "a", {"a"});
  store.Do(first);
  first.Answered("a", Phase::kPrepared, StepAnswer::kDone);
  store.Do(first);
  ASSERT_EQ(first.state(), State::kFinishing);
  Coordinator second = Coordinator::Resume(store.seen, "y", "a", {"a"});
  store.Do(second);
  EXPECT_EQ(second.state(), State::kFinishing);
}

}  // namespace
}  // namespace quire::shard
