// SPDX-License-Identifier: Apache-2.0
#include "base/memory_charge.h"

#include <gtest/gtest.h>

#include "base/arena.h"
#include "base/current_op.h"
#include "base/error_codes.h"

namespace quire {

namespace {

constexpr size_t kMiB = size_t{1} << 20;

// Sets the limits for one test.
class MemoryChargeTest : public testing::Test {
 protected:
  MemoryChargeTest() : before_(OperationMemory().held.load()) {}
  ~MemoryChargeTest() override { SetLimits(0, 0); }

  static void SetLimits(int64_t of_one, int64_t of_all) {
    OperationMemory().of_one = of_one;
    OperationMemory().of_all = of_all;
  }
  int64_t Held() const { return OperationMemory().held.load() - before_; }

 private:
  const int64_t before_;
};

TEST_F(MemoryChargeTest, CountsWhatIsHeld) {
  OpContext op;
  CurrentOpScope current(&op);
  {
    MemoryCharge charge;
    charge.Set(10 * kMiB);
    EXPECT_EQ(op.held.load(), static_cast<int64_t>(10 * kMiB));
    charge.Set(4 * kMiB);
    EXPECT_EQ(op.held.load(), static_cast<int64_t>(4 * kMiB));
    EXPECT_EQ(Held(), static_cast<int64_t>(4 * kMiB));
  }
  EXPECT_EQ(op.held.load(), 0);
  EXPECT_EQ(Held(), 0);
  EXPECT_TRUE(op.CheckInterruptNow().ok());
}

TEST_F(MemoryChargeTest, OneOperationHasALimit) {
  SetLimits(static_cast<int64_t>(8 * kMiB), 0);
  OpContext op;
  CurrentOpScope current(&op);
  MemoryCharge first;
  MemoryCharge second;
  first.Set(6 * kMiB);
  EXPECT_TRUE(op.CheckInterrupt().ok());
  second.Set(3 * kMiB);
  EXPECT_EQ(op.CheckInterrupt().code(), kExceededMemoryLimit);
}

TEST_F(MemoryChargeTest, AllTogetherHaveALimitThatSmallOnesDoNotMeet) {
  SetLimits(0, OperationMemory().held.load() + static_cast<int64_t>(40 * kMiB));
  OpContext large;
  OpContext small;
  MemoryCharge much;
  MemoryCharge more;
  MemoryCharge little;
  {
    CurrentOpScope current(&large);
    much.Set(39 * kMiB);
    EXPECT_TRUE(large.CheckInterrupt().ok());
  }
  {
    CurrentOpScope current(&small);
    little.Set(2 * kMiB);
    EXPECT_TRUE(small.CheckInterrupt().ok());
  }
  CurrentOpScope current(&large);
  more.Set(kMiB);
  EXPECT_EQ(large.CheckInterrupt().code(), kExceededMemoryLimit);
}

TEST_F(MemoryChargeTest, ArenasAreCounted) {
  SetLimits(static_cast<int64_t>(kMiB), 0);
  OpContext op;
  CurrentOpScope current(&op);
  Arena arena;
  arena.Adopt(std::string(kMiB / 2, 'x'));
  EXPECT_TRUE(op.CheckInterrupt().ok());
  arena.Reset();
  arena.Adopt(std::string(kMiB / 2, 'x'));
  EXPECT_TRUE(op.CheckInterrupt().ok());
  arena.Allocate(kMiB);
  EXPECT_EQ(op.CheckInterrupt().code(), kExceededMemoryLimit);
}

}  // namespace

}  // namespace quire
