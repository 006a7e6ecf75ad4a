// SPDX-License-Identifier: Apache-2.0
#include "base/bell.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace quire {
namespace {

TEST(Bell, CallsEachListenerOnce) {
  Bell bell;
  bell.Ring();
  int first = 0;
  int second = 0;
  auto a = bell.Listen([&] { ++first; });
  auto b = bell.Listen([&] { ++second; });
  bell.Ring();
  bell.Ring();
  EXPECT_EQ(first, 1);
  EXPECT_EQ(second, 1);
}

TEST(Bell, AListenerThatIsGoneIsNotCalled) {
  Bell bell;
  int calls = 0;
  auto listener = bell.Listen([&] { ++calls; });
  listener.reset();
  bell.Ring();
  EXPECT_EQ(calls, 0);
}

TEST(Bell, AListenerMayOutliveIt) {
  auto bell = std::make_unique<Bell>();
  auto listener = bell->Listen([] {});
  bell.reset();
  listener.reset();
}

TEST(Bell, NothingIsMissed) {
  Bell bell;
  std::atomic<int> number{0};
  constexpr int kLast = 2000;
  std::vector<std::thread> waiters;
  for (int i = 0; i < 3; ++i) {
    waiters.emplace_back([&] {
      for (int seen = 0; seen < kLast; seen = number) {
        std::atomic<bool> rung{false};
        auto listener = bell.Listen([&] {
          rung = true;
          rung.notify_one();
        });
        if (number == seen) {
          rung.wait(false);
        }
      }
    });
  }
  for (int i = 0; i < kLast; ++i) {
    ++number;
    bell.Ring();
  }
  for (std::thread& waiter : waiters) {
    waiter.join();
  }
  EXPECT_EQ(number, kLast);
}

}  // namespace
}  // namespace quire
