// SPDX-License-Identifier: Apache-2.0
#include "store/recent_keys.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "base/error_codes.h"

namespace quire::store {
namespace {

std::string KeyOf(uint64_t number) {
  std::string key = std::to_string(number);
  return std::string(20 - key.size(), '0') + key;
}

TEST(RecentKeys, TellsOnlyOfKeysAboveThoseThatWereThere) {
  RecentKeys keys;
  int reads = 0;
  auto is_new = [&](std::string_view key) {
    auto is = keys.IsNew(key, [&]() -> Result<std::string> {
      ++reads;
      return std::string("k");
    });
    return is.ok() && *is;
  };
  EXPECT_FALSE(is_new("j"));
  EXPECT_FALSE(is_new("k"));
  EXPECT_TRUE(is_new("l"));
  EXPECT_FALSE(is_new("l"));
  EXPECT_TRUE(is_new("la"));
  EXPECT_TRUE(is_new("n"));
  EXPECT_TRUE(is_new("m"));
  EXPECT_FALSE(is_new("l"));
  EXPECT_FALSE(is_new("m"));
  EXPECT_EQ(reads, 1);
}

TEST(RecentKeys, KnowsNothingUntilTheStoreCouldBeRead) {
  RecentKeys keys;
  auto failing = []() -> Result<std::string> { return Status(kInternalError, "disk"); };
  EXPECT_FALSE(keys.IsNew("a", failing).ok());
  auto last = []() -> Result<std::string> { return std::string("b"); };
  EXPECT_FALSE(*keys.IsNew("a", last));
  EXPECT_TRUE(*keys.IsNew("c", last));
}

TEST(RecentKeys, ClientsThatAscendSideBySideNeedNoLook) {
  RecentKeys keys;
  auto last = []() -> Result<std::string> { return std::string(); };
  std::mt19937_64 random(1);
  uint64_t next[4] = {1, 1, 1, 1};
  int known = 0;
  for (int i = 0; i < 100'000; ++i) {
    const size_t client = random() % 4;
    // None is more than some hundred behind another.
    if (next[client] > *std::min_element(next, next + 4) + 500) {
      continue;
    }
    ++known;
    EXPECT_TRUE(*keys.IsNew(KeyOf(4 * next[client]++ + client), last));
  }
  EXPECT_GT(known, 50'000);
}

TEST(RecentKeys, WhenNobodyAsksTheyAreForgotten) {
  RecentKeys keys;
  auto last = []() -> Result<std::string> { return std::string("b"); };
  keys.ForgetUnasked();
  EXPECT_TRUE(*keys.IsNew("d", last));
  EXPECT_TRUE(*keys.IsNew("g", last));
  keys.ForgetUnasked();
  EXPECT_TRUE(*keys.IsNew("e", last));
  keys.ForgetUnasked();
  keys.ForgetUnasked();
  for (const char* key : {"a", "b", "c", "d", "e", "f", "g"}) {
    EXPECT_FALSE(*keys.IsNew(key, last)) << key;
  }
  EXPECT_TRUE(*keys.IsNew("h", last));
  EXPECT_FALSE(*keys.IsNew("h", last));
}

// One that has a key denies it, whatever was given before.
TEST(RecentKeys, NeverTakesForNewWhatIsThere) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 20; ++round) {
    RecentKeys keys;
    std::set<std::string> there;
    for (uint64_t i = 0; i < 200; ++i) {
      there.insert(KeyOf(random() % 50'000));
    }
    auto last = [&]() -> Result<std::string> { return *there.rbegin(); };
    uint64_t at = 0;
    int known = 0;
    for (int i = 0; i < 30'000; ++i) {
      at += random() % 3;
      const uint64_t back = random() % 8 != 0 ? random() % 2000 : random() % 50'000;
      const std::string key = KeyOf(25'000 + at - std::min(at, back));
      const bool is_new = *keys.IsNew(key, last);
      EXPECT_FALSE(is_new && there.contains(key)) << key;
      if (random() % 1000 == 0) {
        keys.ForgetUnasked();
        keys.ForgetUnasked();
      }
      known += is_new ? 1 : 0;
      there.insert(key);
    }
    EXPECT_GT(known, 0);
  }
}

}  // namespace
}  // namespace quire::store
