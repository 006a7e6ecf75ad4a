// SPDX-License-Identifier: Apache-2.0
#include "router/transactions.h"

#include <gtest/gtest.h>

#include "quire/doc.h"

namespace quire::router {
namespace {

constexpr auto kAll = [](std::string_view) { return true; };

TEST(Transactions, StayOnOneShard) {
  Transactions transactions;
  const bson::Document concern = Doc("level", "snapshot");
  transactions.Begin("a", 1, concern, kAll);
  EXPECT_EQ(transactions.Find("a", 1)->shard, "");
  transactions.Settle("a", 1, "s0");
  EXPECT_EQ(transactions.Find("a", 1)->shard, "s0");
  transactions.Unsettle("a", 1);
  EXPECT_EQ(transactions.Find("a", 1)->shard, "");
  EXPECT_FALSE(transactions.Find("a", 2));
  transactions.Begin("a", 2, bson::View(), kAll);
  EXPECT_EQ(transactions.Find("a", 2)->shard, "");
  transactions.Forget("a");
  EXPECT_FALSE(transactions.Find("a", 2));
}

// Clients begin sessions, and end them, as often as they like.
TEST(Transactions, ThoseOfEndedSessionsAreForgotten) {
  Transactions transactions;
  for (size_t i = 0; i < 10 * Transactions::kSweptAfter; ++i) {
    transactions.Begin("session " + std::to_string(i), 1, bson::View(),
                       [](std::string_view session) { return session == "session 5"; });
  }
  EXPECT_LE(transactions.size(), Transactions::kSweptAfter + 1);
  EXPECT_TRUE(transactions.Find("session 5", 1));
}

TEST(Transactions, NoMoreOfAReadConcernIsKeptThanIsNeeded) {
  Transactions transactions;
  const bson::Document concern = Doc("level", "majority", "afterOpTime", std::string(1 << 20, 'x'));
  transactions.Begin("a", 1, concern, kAll);
  EXPECT_EQ(bson::ToJson(transactions.Find("a", 1)->read_concern), R"({"level":"majority"})");
}

}  // namespace
}  // namespace quire::router
