// SPDX-License-Identifier: Apache-2.0
#include "base/interruptible_sort.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/error_codes.h"

namespace quire {
namespace {

std::vector<int> Falling(int count) {
  std::vector<int> values;
  for (int i = count; i > 0; --i) {
    values.push_back(i);
  }
  return values;
}

TEST(InterruptibleSort, SortsWithAndWithoutAnOperation) {
  for (bool with : {false, true}) {
    OpContext op;
    CurrentOpScope scope(with ? &op : nullptr);
    std::vector<int> values = Falling(10'000);
    EXPECT_TRUE(InterruptibleSort(values.begin(), values.end()).ok());
    EXPECT_TRUE(std::is_sorted(values.begin(), values.end()));
    values = Falling(10'000);
    EXPECT_TRUE(InterruptibleStableSort(values.begin(), values.end()).ok());
    EXPECT_TRUE(std::is_sorted(values.begin(), values.end()));
  }
}

TEST(InterruptibleSort, EndsWithItsOperation) {
  OpContext op;
  CurrentOpScope scope(&op);
  int64_t compared = 0;
  auto killing = [&](int a, int b) {
    if (++compared == 5000) {
      op.Kill();
    }
    return a < b;
  };
  std::vector<int> values = Falling(1'000'000);
  EXPECT_EQ(InterruptibleSort(values.begin(), values.end(), killing).code(), kInterrupted);
  EXPECT_LT(compared, 10'000);
}

TEST(InterruptibleSort, EndsAtItsDeadline) {
  OpContext op;
  CurrentOpScope scope(&op);
  int64_t compared = 0;
  auto late = [&](int a, int b) {
    if (++compared == 5000) {
      op.SetDeadline(OpContext::Clock::now());
    }
    return a < b;
  };
  std::vector<int> values = Falling(1'000'000);
  EXPECT_EQ(InterruptibleSort(values.begin(), values.end(), late).code(), kMaxTimeMSExpired);
  EXPECT_LT(compared, 20'000);
}

}  // namespace
}  // namespace quire
