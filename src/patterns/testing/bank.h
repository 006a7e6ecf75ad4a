// SPDX-License-Identifier: Apache-2.0
//
// What the tests of transfers share: a bank and its invariants.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "patterns/testing/places.h"
#include "quire/patterns/transfers.h"

namespace quire::patterns {

inline Transfers BankOf(World* world, Backend backend, const Seams& seams) {
  return Transfers(world->client, world->database, {.backend = backend, .seams = seams});
}
inline Transfers BankOf(World* world, Backend backend = Backend::kCompensating) {
  return BankOf(world, backend, world->seams());
}

// I1 and I2, with the accounts and records as they are now (no other client runs).
inline void ExpectConserved(World* world, int64_t total) {
  int64_t sum = 0;
  std::map<std::string, bson::Document> accounts;
  for (const bson::Document& account : world->All("accounts")) {
    EXPECT_GE(IntegerAt(account, "balance"), 0);
    sum += IntegerAt(account, "balance");
    accounts.emplace(std::string(TextAt(account, "_id")), account);
  }
  for (const bson::Document& record : world->All("transactions")) {
    std::string_view state = TextAt(record, "state");
    const bool out = state == "new" || state == "rollback";
    auto holder = accounts.find(std::string(TextAt(record, out ? "src" : "dst")));
    if ((out || state == "commit") && holder != accounts.end() &&
        Holds(holder->second["txns"], record["_id"])) {
      sum += IntegerAt(record, "amt");
    }
  }
  EXPECT_EQ(sum, total);
}

// I3.
inline void ExpectAllEnded(World* world) {
  for (const bson::Document& account : world->All("accounts")) {
    EXPECT_TRUE(account["txns"].AsArray().empty()) << bson::ToJson(account.view());
  }
  for (const bson::Document& record : world->All("transactions")) {
    std::string_view state = TextAt(record, "state");
    EXPECT_TRUE(state == "done" || state == "rolled_back") << state;
  }
}

// Lets time pass and runs the jobs.
inline void SettleBank(World* world) {
  world->clock.Advance(std::chrono::minutes(5));
  Transfers bank = BankOf(world);
  for (int i = 0; i < 10; ++i) {
    auto report = bank.Cleanup();
    ASSERT_TRUE(report.ok()) << report.status().ToString();
    if (report->changed == 0) {
      return;
    }
  }
  FAIL() << "the clean-up never ends";
}

inline void OpenTwo(World* world) {
  Transfers bank = BankOf(world);
  ASSERT_TRUE(bank.CreateIndexes().ok());
  ASSERT_TRUE(bank.OpenAccount("a", 100).ok());
  ASSERT_TRUE(bank.OpenAccount("b", 0).ok());
}

inline int64_t BalanceOf(World* world, std::string_view id) {
  auto balance = BankOf(world).GetBalance(id);
  EXPECT_TRUE(balance.ok()) << balance.status().ToString();
  return balance.ok() ? balance->balance : -1;
}

}  // namespace quire::patterns
