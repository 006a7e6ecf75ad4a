// SPDX-License-Identifier: Apache-2.0
#include "base/thread.h"

#include <gtest/gtest.h>

#include "base/error_codes.h"
#include "base/testing/no_threads.h"

namespace quire {
namespace {

TEST(Thread, Runs) {
  int done = 0;
  Result<std::thread> thread = StartThread([&] { done = 1; });
  ASSERT_TRUE(thread.ok()) << thread.status().ToString();
  thread->join();
  EXPECT_EQ(done, 1);
}

TEST(Thread, OneThatTheSystemRefusesIsAnError) {
  NoThreads refused;
  Result<std::thread> thread = StartThread([] {});
  ASSERT_FALSE(thread.ok());
  EXPECT_EQ(thread.status().code(), kInternalError);
}

}  // namespace
}  // namespace quire
