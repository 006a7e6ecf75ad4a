// SPDX-License-Identifier: Apache-2.0
#include "kv/claim_table.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <random>
#include <thread>

#include "base/error_codes.h"

namespace quire::kv {
namespace {

using Claims = ClaimTable::Claims;

TEST(ClaimTable, ForgetsWhatNobodyCanConflictWith) {
  ClaimTable table;
  for (int i = 0; i < 1000; ++i) {
    Claims claims(table);
    ASSERT_TRUE(claims.Add("key" + std::to_string(i)).ok());
    i % 2 ? claims.Commit() : void();
  }
  EXPECT_EQ(table.size(), 0u);
}

TEST(ClaimTable, RemembersWhileAnOlderTransactionIsOpen) {
  ClaimTable table;
  {
    Claims old_one(table);
    for (int round = 0; round < 3; ++round) {
      for (int i = 0; i < 200; ++i) {
        Claims claims(table);
        ASSERT_TRUE(claims.Add("key" + std::to_string(i)).ok());
        claims.Commit();
      }
    }
    EXPECT_EQ(table.size(), 200u);
    EXPECT_EQ(old_one.Add("key7").code(), kWriteConflict);
    {
      Claims rolled_back(table);
      ASSERT_TRUE(rolled_back.Add("key7").ok());
    }
    EXPECT_EQ(old_one.Add("key7").code(), kWriteConflict);
  }
  for (int i = 0; i < 2000; ++i) {  // touches every shard
    Claims claims(table);
    ASSERT_TRUE(claims.Add("other" + std::to_string(i)).ok());
    claims.Commit();
  }
  EXPECT_EQ(table.size(), 0u);
}

TEST(ClaimTable, OneTransactionMayHoldManyKeys) {
  ClaimTable table;
  constexpr int kKeys = 20'000;
  {
    Claims many(table);
    for (int i = 0; i < kKeys; ++i) {
      ASSERT_TRUE(many.Add("key" + std::to_string(i)).ok());
    }
    EXPECT_EQ(table.size(), static_cast<size_t>(kKeys));
    Claims other(table);
    for (int i = 0; i < kKeys; i += 7) {
      ASSERT_EQ(other.Add("key" + std::to_string(i)).code(), kWriteConflict);
    }
    ASSERT_TRUE(other.Add("another").ok());
  }
  EXPECT_EQ(table.size(), 0u);
  Claims next(table);
  for (int i = 0; i < kKeys; ++i) {
    ASSERT_TRUE(next.Add("key" + std::to_string(i)).ok());
  }
}

TEST(ClaimTable, OneHolderAtATime) {
  ClaimTable table;
  constexpr int kKeys = 5;
  std::atomic<int> held[kKeys] = {};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      for (int i = 0; i < 5000; ++i) {
        int key = static_cast<int>(random() % kKeys);
        Claims claims(table);
        if (claims.Add(std::to_string(key)).ok()) {
          EXPECT_EQ(held[key].fetch_add(1), 0);
          held[key].fetch_sub(1);
          random() % 2 ? claims.Commit() : void();
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

}  // namespace
}  // namespace quire::kv
