// SPDX-License-Identifier: Apache-2.0
#include "base/keyed_hash.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace quire {

namespace {

TEST(KeyedHashTest, KeysAreDrawn) {
  EXPECT_NE(kHashKeys.first, 0U);
  EXPECT_NE(kHashKeys.second, 0U);
  EXPECT_NE(kHashKeys.first, kHashKeys.second);
}

TEST(KeyedHashTest, EqualBytesHashAlike) {
  for (size_t length = 0; length < 40; ++length) {
    std::string bytes(length, 'x');
    std::string shifted = "y" + bytes;
    EXPECT_EQ(KeyedHash(bytes), KeyedHash(std::string_view(shifted).substr(1)));
    EXPECT_EQ(KeyedHash(bytes), KeyedStringHash()(bytes));
  }
}

TEST(KeyedHashTest, LengthsAndSeedsTellApart) {
  std::set<uint64_t> seen;
  for (size_t length = 0; length < 64; ++length) {
    seen.insert(KeyedHash(std::string(length, '\0')));
    seen.insert(KeyedHash(std::string(length, '\0'), 1 + length));
  }
  EXPECT_EQ(seen.size(), 128U);
}

// The keys below fall together under the fixed constants the tables once used; under drawn keys
// they spread over the buckets as any others do.
TEST(KeyedHashTest, LowBitsSpread) {
  constexpr size_t kBuckets = 1024;
  std::set<uint64_t> buckets;
  for (uint64_t i = 0; i < kBuckets; ++i) {
    uint64_t words[2] = {0xd6e8feb86659fd93, i << 40};
    std::string_view bytes(reinterpret_cast<const char*>(words), sizeof words);
    buckets.insert(KeyedHash(bytes) % kBuckets);
  }
  EXPECT_GT(buckets.size(), kBuckets / 3);
}

}  // namespace

}  // namespace quire
