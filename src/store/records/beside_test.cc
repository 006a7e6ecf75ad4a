// SPDX-License-Identifier: Apache-2.0
#include "store/records/beside.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "store/records/record_keys.h"

namespace quire::store {
namespace {

TEST(BesideTest, NothingIsDeniedOfWhatNobodyKnows) {
  Beside beside;
  EXPECT_TRUE(beside.MayHave(1));
  EXPECT_TRUE(beside.MayHave(int64_t{1} << 50));
  EXPECT_FALSE(beside.WantsLook(0));
  beside.Mark(1);
  EXPECT_TRUE(beside.MayHave(2));
}

TEST(BesideTest, ANewGroupHasNothingBesideItUntilItIsMarked) {
  Beside beside;
  for (int64_t number : {int64_t{0}, int64_t{63}, int64_t{64}, int64_t{1} << 20}) {
    beside.AddGroup(number);
    const RecordId first = FirstIdOf(number);
    EXPECT_FALSE(beside.MayHave(first));
    EXPECT_FALSE(beside.MayHave(first + 63));
    beside.Mark(first + 7);
    EXPECT_TRUE(beside.MayHave(first + 7));
    EXPECT_FALSE(beside.MayHave(first + 8));
    EXPECT_EQ(beside.MarkedOf(number), uint64_t{1} << 7);
  }
  EXPECT_TRUE(beside.MayHave(FirstIdOf(65)));
}

TEST(BesideTest, OneLookIsEnoughForWhatWasThereBefore) {
  Beside beside;
  beside.BeginAt(100);
  EXPECT_TRUE(beside.WantsLook(99));
  EXPECT_FALSE(beside.WantsLook(100));
  beside.Mark(FirstIdOf(99) + 1);  // by a writer the look does not see
  beside.Learn(99, 0b100);
  EXPECT_FALSE(beside.WantsLook(99));
  EXPECT_FALSE(beside.MayHave(FirstIdOf(99)));
  EXPECT_TRUE(beside.MayHave(FirstIdOf(99) + 1));
  EXPECT_TRUE(beside.MayHave(FirstIdOf(99) + 2));
  EXPECT_TRUE(beside.MayHave(FirstIdOf(98)));
}

TEST(BesideTest, BeyondItsBoundNothingIsDenied) {
  Beside beside;
  const int64_t beyond = int64_t{64} << 24;
  beside.BeginAt(beyond + 10);
  beside.AddGroup(beyond + 20);
  EXPECT_TRUE(beside.MayHave(FirstIdOf(beyond + 20)));
  EXPECT_FALSE(beside.WantsLook(beyond));
  beside.Learn(beyond, 0);
  EXPECT_TRUE(beside.MayHave(FirstIdOf(beyond)));
}

TEST(BesideTest, MarksOfManyThreadsAreAllKept) {
  Beside beside;
  beside.BeginAt(1000);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&beside, t] {
      for (RecordId id = t; id < 64000; id += 4) {
        beside.Mark(id);
        beside.Learn(GroupOf(id), 0);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (RecordId id = 0; id < 64000; ++id) {
    ASSERT_TRUE(beside.MayHave(id));
    ASSERT_EQ(beside.MarkedOf(GroupOf(id)), ~uint64_t{0});
  }
}

}  // namespace
}  // namespace quire::store
