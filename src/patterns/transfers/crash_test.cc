// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "patterns/testing/bank.h"
#include "patterns/testing/random_crash.h"
#include "quire/patterns/orders.h"

namespace quire::patterns {
namespace {

using bson::Document;
using std::chrono::hours;
using std::chrono::minutes;

class TransfersCrashTest : public ::testing::TestWithParam<Place> {};

// Every operation and every point of it, on both back ends.
TEST_P(TransfersCrashTest, SurvivesEveryCrashAndLateWrite) {
  struct {
    Backend backend;
    int64_t amount;
    const char* to;
    bool again;  // the caller repeats the key after an error
    int min_runs;
  } const kCases[] = {
      {Backend::kCompensating, 60, "b", false, 35},  {Backend::kCompensating, 60, "b", true, 35},
      {Backend::kCompensating, 500, "b", false, 20}, {Backend::kCompensating, 60, "gone", true, 20},
      {Backend::kTransactional, 60, "b", false, 15}, {Backend::kTransactional, 60, "b", true, 15},
      {Backend::kTransactional, 500, "b", true, 5},
  };
  for (const auto& row : kCases) {
    SCOPED_TRACE(std::to_string(static_cast<int>(row.backend)) + " " + std::to_string(row.amount) +
                 row.to + (row.again ? " again" : ""));
    CrashCase test;
    test.once = OpenTwo;
    test.operation = [&](World* world, const Seams& seams) {
      Status first =
          BankOf(world, row.backend, seams).Transfer(row.amount, "a", row.to, "k").status();
      if (row.again && !first.ok()) {
        (void)BankOf(world, row.backend).Transfer(row.amount, "a", row.to, "k");
      }
      return first;
    };
    test.settle = SettleBank;
    test.always = [](World* world) { ExpectConserved(world, 100); };
    test.settled = ExpectAllEnded;
    EXPECT_GE(RunCrashCase(GetParam(), test), row.min_runs);
  }
}

// The jobs themselves, over transfers that were left at every point of theirs.
TEST_P(TransfersCrashTest, JobsSurviveTheirOwnCrashes) {
  const struct {
    const char* name;
    std::function<Status(const Transfers&)> run;
  } kJobs[] = {{"cleanup", [](auto& bank) { return bank.Cleanup().status(); }},
               {"purge", [](auto& bank) { return bank.Purge().status(); }},
               {"open", [](auto& bank) { return bank.OpenAccount("c", 0); }}};
  for (const auto& job : kJobs) {
    SCOPED_TRACE(job.name);
    CrashCase test;
    test.once = [&](World* world) {
      OpenTwo(world);
      for (int step = 1; step <= 6; ++step) {
        TestCrash crash;
        crash.at = "transfers.transfer.c" + std::to_string(step);
        (void)BankOf(world, Backend::kCompensating, world->seams(&crash)).Transfer(10, "a", "b");
      }
      if (job.name == std::string("purge")) {
        SettleBank(world);
        world->clock.Advance(hours(25));
      } else {
        world->clock.Advance(minutes(5));
      }
    };
    test.operation = [&](World* world, const Seams& seams) {
      return job.run(BankOf(world, Backend::kCompensating, seams));
    };
    test.settle = SettleBank;
    test.always = [](World* world) { ExpectConserved(world, 100); };
    test.settled = [](World* world) {
      ExpectAllEnded(world);
      EXPECT_EQ(BalanceOf(world, "b"), 30);
    };
    EXPECT_GE(RunCrashCase(GetParam(), test), 6);
  }
}

TEST_P(TransfersCrashTest, OrdersSurviveEveryCrash) {
  for (bool keyed : KeyedAt(GetParam())) {
    for (const char* sku : {"has", "new"}) {
      const CallKey key = keyed ? CallKey("k") : std::nullopt;
      auto orders = [](World* world, const Seams& seams) {
        return Orders(world->client, world->database, seams);
      };
      CrashCase test;
      test.once = [&](World* world) {
        ASSERT_TRUE(orders(world, world->seams()).CreateIndexes().ok());
        ASSERT_TRUE(orders(world, world->seams()).Create("o").ok());
        ASSERT_TRUE(orders(world, world->seams()).Add("o", "has", 5, 1).ok());
      };
      test.operation = [&](World* world, const Seams& seams) {
        Status first = orders(world, seams).Add("o", sku, 5, 2, key);
        if (keyed) {
          EXPECT_TRUE(orders(world, world->seams()).Add("o", sku, 5, 2, key).ok());
          EXPECT_EQ(orders(world, world->seams()).Get("o")->total, 15);
        }
        return first;
      };
      test.settle = [](World*) {};
      test.always = [&](World* world) {
        const Order order = *orders(world, world->seams()).Get("o");
        int64_t sum = 0;
        for (const OrderItem& item : order.items) {
          sum += item.quantity * item.price;
        }
        EXPECT_EQ(order.total, sum);
        EXPECT_TRUE(sum == 5 || sum == 15) << sum;
      };
      test.settled = test.always;
      EXPECT_GE(RunCrashCase(GetParam(), test), 6);
    }
  }
}

// Transfers with and without keys among three accounts, orders beside them.
class RandomTransfers : public RandomWorkload {
 public:
  explicit RandomTransfers(Backend backend) : backend_(backend) {}

  void Setup(World* world) override {
    Transfers bank = BankOf(world);
    ASSERT_TRUE(bank.CreateIndexes().ok());
    for (const char* account : kAccounts) {
      ASSERT_TRUE(bank.OpenAccount(account, 100).ok());
      base_[account] = 100;
    }
    ASSERT_TRUE(Orders(world->client, world->database, world->seams()).Create("o").ok());
  }

  Status Step(World* world, const Seams& seams, Chance* chance) override {
    Transfers bank = BankOf(world, backend_, seams);
    switch (chance->Below(8)) {
      case 0:
        chance->Note("cleanup");
        world->clock.Advance(std::chrono::seconds(40));
        return bank.Cleanup().status();
      case 1: {
        const std::string sku = "s" + std::to_string(chance->Below(2));
        chance->Note("order " + sku);
        return Orders(world->client, world->database, seams)
            .Add("o", sku, 5 + chance->Below(2), 1 + chance->Below(3),
                 chance->OneIn(2) ? CallKey("o" + std::to_string(++orders_)) : std::nullopt);
      }
      case 2:
      case 3: {
        const int amount = 1 + chance->Below(120);
        const char* from = chance->Pick(kAccounts);
        const char* to = chance->Pick(kAccounts);
        chance->Note(std::string("transfer ") + from + " " + to + " " + std::to_string(amount));
        return bank.Transfer(amount, from, to).status();
      }
      default:
        return WithKey(bank, chance->Below(6), chance);
    }
  }

  void Settle(World* world) override { SettleBank(world); }

  void ExpectAlways(World* world) override {
    ExpectConserved(world, 300);
    const Order order = *Orders(world->client, world->database).Get("o");
    int64_t sum = 0;
    for (const OrderItem& item : order.items) {
      sum += item.quantity * item.price;
    }
    EXPECT_EQ(order.total, sum);
  }

  // Balances are what the transfers that were done say; an outcome that was told stays.
  void ExpectSettled(World* world) override {
    ExpectAllEnded(world);
    std::map<std::string, int64_t> expected = base_;
    std::map<std::string, std::string> outcomes;
    for (const Document& record : world->All("transactions")) {
      if (record["_id"].is_string()) {
        const std::string_view error = TextAt(record, "error");
        outcomes[std::string(TextAt(record, "_id"))] = error.empty() ? "OK" : error;
      }
      if (TextAt(record, "state") == "done") {
        expected[std::string(TextAt(record, "src"))] -= IntegerAt(record, "amt");
        expected[std::string(TextAt(record, "dst"))] += IntegerAt(record, "amt");
      }
    }
    for (const auto& [account, balance] : expected) {
      EXPECT_EQ(BalanceOf(world, account), balance) << account;
    }
    for (const auto& [key, outcome] : told_) {
      EXPECT_EQ(outcomes[key], outcome) << key;
    }
  }

  void Rest(World* world) override {
    SettleBank(world);
    for (auto& [account, balance] : base_) {
      balance = BalanceOf(world, account);
    }
    world->clock.Advance(hours(25));
    EXPECT_TRUE(BankOf(world).Purge().ok());
    EXPECT_TRUE(world->All("transactions").empty());
    told_.clear();
  }

 private:
  static constexpr const char* kAccounts[] = {"a", "b", "c"};

  // A key always stands for the same transfer.
  Status WithKey(const Transfers& bank, int number, Chance* chance) {
    const std::string key = "k" + std::to_string(number);
    chance->Note("transfer " + key);
    const char* to = number == 5 ? "nobody" : kAccounts[(number + 1) % 3];
    Status status = bank.Transfer(20 + 30 * number, kAccounts[number % 3], to, key).status();
    const std::string outcome = ErrorName(status);
    if (status.ok() || IsFinal(status)) {
      EXPECT_EQ(told_.emplace(key, outcome).first->second, outcome) << key;
    }
    return status;
  }

  Backend backend_;
  int orders_ = 0;
  std::map<std::string, int64_t> base_;      // before the records that are kept
  std::map<std::string, std::string> told_;  // outcomes of keys
};

const RandomSystem kRandom("Transfers", [](Chance* chance) {
  return std::make_unique<RandomTransfers>(chance->OneIn(2) ? Backend::kTransactional
                                                            : Backend::kCompensating);
});

INSTANTIATE_TEST_SUITE_P(Places, TransfersCrashTest,
                         ::testing::Values(Place::kEmbedded, Place::kServed),
                         [](const auto& place) { return PlaceName(place.param); });

}  // namespace
}  // namespace quire::patterns
