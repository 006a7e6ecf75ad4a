// SPDX-License-Identifier: Apache-2.0
#include "store/highest_key.h"

#include <gtest/gtest.h>

#include "base/error_codes.h"

namespace quire::store {
namespace {

TEST(HighestKey, TellsOnlyKeysAboveAllThatWereThere) {
  HighestKey highest;
  int reads = 0;
  auto raise = [&](std::string_view key) {
    auto above = highest.Raise(key, [&]() -> Result<std::string> {
      ++reads;
      return std::string("k");
    });
    return above.ok() && *above;
  };
  EXPECT_FALSE(raise("j"));
  EXPECT_FALSE(raise("k"));
  EXPECT_TRUE(raise("l"));
  EXPECT_FALSE(raise("l"));
  EXPECT_TRUE(raise("la"));
  EXPECT_FALSE(raise("l"));
  EXPECT_EQ(reads, 1);
}

TEST(HighestKey, KnowsNothingUntilTheStoreCouldBeRead) {
  HighestKey highest;
  auto failing = []() -> Result<std::string> { return Status(kInternalError, "disk"); };
  EXPECT_FALSE(highest.Raise("a", failing).ok());
  auto last = []() -> Result<std::string> { return std::string("b"); };
  EXPECT_FALSE(*highest.Raise("a", last));
  EXPECT_TRUE(*highest.Raise("c", last));
}

}  // namespace
}  // namespace quire::store
