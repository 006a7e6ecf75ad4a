// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/transfers.h"

#include <gtest/gtest.h>

#include <map>
#include <thread>

#include "patterns/test_world.h"
#include "quire/patterns/orders.h"

namespace quire::patterns {
namespace {

using bson::Document;
using std::chrono::hours;
using std::chrono::minutes;

constexpr Backend kBackends[] = {Backend::kCompensating, Backend::kTransactional};

Transfers BankOf(World* world, Backend backend, const Seams& seams) {
  return Transfers(world->client, world->database, {.backend = backend, .seams = seams});
}
Transfers BankOf(World* world, Backend backend = Backend::kCompensating) {
  return BankOf(world, backend, world->seams());
}

std::vector<Document> All(World* world, std::string_view collection) {
  auto found = world->store.Find(collection, Doc());
  EXPECT_TRUE(found.ok()) << found.status().ToString();
  return found.ok() ? *found : std::vector<Document>();
}

// I1 and I2, with the accounts and records as they are now (no other client runs).
void ExpectConserved(World* world, int64_t total) {
  int64_t sum = 0;
  std::map<std::string, Document> accounts;
  for (const Document& account : All(world, "accounts")) {
    EXPECT_GE(IntegerAt(account, "balance"), 0);
    sum += IntegerAt(account, "balance");
    accounts.emplace(std::string(TextAt(account, "_id")), account);
  }
  for (const Document& record : All(world, "transactions")) {
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
void ExpectSettled(World* world) {
  for (const Document& account : All(world, "accounts")) {
    EXPECT_TRUE(account["txns"].AsArray().empty()) << bson::ToJson(account.view());
  }
  for (const Document& record : All(world, "transactions")) {
    std::string_view state = TextAt(record, "state");
    EXPECT_TRUE(state == "done" || state == "rolled_back") << state;
  }
}

void Settle(World* world) {
  world->clock.Advance(minutes(5));
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

void OpenTwo(World* world) {
  Transfers bank = BankOf(world);
  ASSERT_TRUE(bank.CreateIndexes().ok());
  ASSERT_TRUE(bank.OpenAccount("a", 100).ok());
  ASSERT_TRUE(bank.OpenAccount("b", 0).ok());
}

int64_t BalanceOf(World* world, std::string_view id) {
  auto balance = BankOf(world).GetBalance(id);
  EXPECT_TRUE(balance.ok()) << balance.status().ToString();
  return balance.ok() ? balance->balance : -1;
}

class TransfersTest : public ::testing::TestWithParam<Place> {
 protected:
  World world_{GetParam()};
};

TEST_P(TransfersTest, MovesMoneyOrSaysWhyNot) {
  OpenTwo(&world_);
  for (Backend backend : kBackends) {
    Transfers bank = BankOf(&world_, backend);
    const int64_t before = BalanceOf(&world_, "b");
    auto moved = bank.Transfer(30, "a", "b");
    ASSERT_TRUE(moved.ok()) << moved.status().ToString();
    EXPECT_EQ(moved->state, "done");
    EXPECT_EQ(moved->amount, 30);
    EXPECT_EQ(BalanceOf(&world_, "b"), before + 30);
    EXPECT_EQ(bank.GetStatus(moved->id.value())->state, "done");

    struct {
      int64_t amount;
      const char* from;
      const char* to;
      const char* error;
    } const kRefused[] = {
        {0, "a", "b", "InvalidAmount"},       {-5, "a", "b", "InvalidAmount"},
        {5, "a", "a", "SameAccount"},         {500, "a", "b", "InsufficientFunds"},
        {5, "nobody", "b", "UnknownAccount"}, {5, "a", "nobody", "UnknownAccount"},
    };
    for (const auto& row : kRefused) {
      auto refused = bank.Transfer(row.amount, row.from, row.to);
      EXPECT_EQ(ErrorName(refused.status()), row.error) << row.amount << row.from << row.to;
      ExpectConserved(&world_, 100);
    }
  }
  EXPECT_EQ(BalanceOf(&world_, "a"), 40);
  EXPECT_TRUE(Is(BankOf(&world_).GetStatus(bson::Value("none")).status(), Error::kNotFound));
  EXPECT_TRUE(Is(BankOf(&world_).GetBalance("none").status(), Error::kUnknownAccount));
  EXPECT_TRUE(Is(BankOf(&world_).OpenAccount("c", -1), Error::kInvalidAmount));
  ExpectSettled(&world_);
}

TEST_P(TransfersTest, AKeyHasOneOutcome) {
  for (Backend backend : kBackends) {
    World world(GetParam());
    OpenTwo(&world);
    Transfers bank = BankOf(&world, backend);
    for (int i = 0; i < 3; ++i) {
      EXPECT_TRUE(bank.Transfer(60, "a", "b", "k").ok());
      EXPECT_TRUE(Is(bank.Transfer(60, "a", "b", "poor").status(), Error::kInsufficientFunds));
    }
    EXPECT_EQ(BalanceOf(&world, "a"), 40);
    EXPECT_EQ(BalanceOf(&world, "b"), 60);
    ASSERT_TRUE(bank.Transfer(60, "b", "a").ok());  // now it could, but the key is decided
    EXPECT_TRUE(Is(bank.Transfer(60, "a", "b", "poor").status(), Error::kInsufficientFunds));
    EXPECT_TRUE(Is(bank.Transfer(61, "a", "b", "k").status(), Error::kIdempotencyKeyReuse));
    EXPECT_TRUE(Is(bank.Transfer(60, "b", "a", "k").status(), Error::kIdempotencyKeyReuse));
    ExpectConserved(&world, 100);
  }
}

TEST_P(TransfersTest, PendingMoneyIsShown) {
  OpenTwo(&world_);
  TestCrash crash;
  crash.at = "transfers.transfer.c2";
  Transfers bank = BankOf(&world_, Backend::kCompensating, world_.seams(&crash));
  EXPECT_TRUE(Is(bank.Transfer(60, "a", "b").status(), Error::kCrashed));
  EXPECT_EQ(bank.GetBalance("a")->balance, 40);
  EXPECT_EQ(bank.GetBalance("a")->pending_out, 60);
  EXPECT_EQ(bank.GetBalance("b")->balance, 0);
  Settle(&world_);
  EXPECT_EQ(bank.GetBalance("a")->balance, 100);
  EXPECT_EQ(bank.GetBalance("a")->pending_out, 0);
}

// Every operation and every point of it, on both back ends.
TEST_P(TransfersTest, SurvivesEveryCrashAndLateWrite) {
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
    test.setup = OpenTwo;
    test.operation = [&](World* world, const Seams& seams) {
      Status first =
          BankOf(world, row.backend, seams).Transfer(row.amount, "a", row.to, "k").status();
      if (row.again && !first.ok()) {
        (void)BankOf(world, row.backend).Transfer(row.amount, "a", row.to, "k");
      }
      return first;
    };
    test.settle = Settle;
    test.always = [](World* world) { ExpectConserved(world, 100); };
    test.settled = ExpectSettled;
    EXPECT_GE(RunCrashCase(GetParam(), test), row.min_runs);
  }
}

// Two callers with one key, the first paused after each of its steps while the second runs.
TEST_P(TransfersTest, ResumedTwiceMovesOnce) {
  for (int step = 1; step <= 7; ++step) {
    World world(GetParam());
    OpenTwo(&world);
    TestCrash crash;
    crash.at = "transfers.transfer.c" + std::to_string(step);
    crash.action = [&] {
      EXPECT_TRUE(BankOf(&world).Transfer(60, "a", "b", "k").ok());
      ExpectConserved(&world, 100);
      return true;
    };
    auto first =
        BankOf(&world, Backend::kCompensating, world.seams(&crash)).Transfer(60, "a", "b", "k");
    EXPECT_TRUE(first.ok()) << step << first.status().ToString();
    EXPECT_EQ(BalanceOf(&world, "a"), 40);
    EXPECT_EQ(BalanceOf(&world, "b"), 60);
    Settle(&world);
    ExpectSettled(&world);
    ExpectConserved(&world, 100);
  }
}

TEST_P(TransfersTest, PurgeForgetsWithTheTombstones) {
  OpenTwo(&world_);
  Transfers bank = BankOf(&world_);
  ASSERT_TRUE(bank.Transfer(10, "a", "b").ok());
  ASSERT_FALSE(bank.Transfer(500, "a", "b").ok());
  EXPECT_EQ(bank.Purge()->changed, 0);
  world_.clock.Advance(hours(25));
  EXPECT_EQ(bank.Purge()->changed, 2);
  EXPECT_TRUE(All(&world_, "transactions").empty());
  for (const Document& account : All(&world_, "accounts")) {
    EXPECT_TRUE(account["voided"].AsArray().empty());
  }
}

TEST_P(TransfersTest, ManyClientsAndCleanersConserveMoney) {
  for (Backend backend : kBackends) {
    World world(GetParam());
    Transfers bank = BankOf(&world, backend);
    ASSERT_TRUE(bank.CreateIndexes().ok());
    constexpr int kAccounts = 4;
    for (int i = 0; i < kAccounts; ++i) {
      ASSERT_TRUE(bank.OpenAccount("acc" + std::to_string(i), 100).ok());
    }
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&world, backend, t] {
        Transfers mine = BankOf(&world, backend);
        for (int i = 0; i < 25; ++i) {
          std::string from = "acc" + std::to_string((t + i) % kAccounts);
          std::string to = "acc" + std::to_string((t + i * 3 + 1) % kAccounts);
          auto moved = mine.Transfer(1 + i, from, to);
          EXPECT_TRUE(moved.ok() || ErrorName(moved.status()) == "SameAccount" ||
                      ErrorName(moved.status()) == "InsufficientFunds" ||
                      ErrorName(moved.status()) == "TransactionExpired")
              << moved.status().ToString();
        }
      });
    }
    threads.emplace_back([&world] {
      for (int i = 0; i < 20; ++i) {
        world.clock.Advance(std::chrono::seconds(30));
        EXPECT_TRUE(BankOf(&world).Cleanup().ok());
      }
    });
    for (std::thread& thread : threads) {
      thread.join();
    }
    ExpectConserved(&world, kAccounts * 100);
    Settle(&world);
    ExpectSettled(&world);
    ExpectConserved(&world, kAccounts * 100);
  }
}

TEST_P(TransfersTest, QueriesUseTheIndexes) {
  EXPECT_EQ(BankOf(&world_).MissingIndexes()->size(), 1u);
  OpenTwo(&world_);
  EXPECT_TRUE(BankOf(&world_).MissingIndexes()->empty());
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(BankOf(&world_).Transfer(1, "a", "b").ok());
  }
  for (const Document& filter : {Doc("state", "commit"), Doc("state", "rollback"),
                                 Doc("state", "new", "ts", Doc("$lt", world_.clock.Now()))}) {
    Explained explained = Explain(world_.store, Doc("find", "transactions", "filter", filter));
    EXPECT_EQ(explained.plan.find("COLLSCAN"), std::string::npos) << explained.plan;
    EXPECT_NE(explained.plan.find("IXSCAN"), std::string::npos) << explained.plan;
    EXPECT_LE(explained.keys, explained.returned + 1);
  }
}

TEST_P(TransfersTest, OrdersKeepTheirTotal) {
  Orders orders(world_.client, world_.database);
  ASSERT_TRUE(orders.Create("o").ok());
  EXPECT_TRUE(orders.Add("o", "x", 11022, 3).ok());
  EXPECT_EQ(orders.Get("o")->total, 33066);
  EXPECT_TRUE(orders.Add("o", "x", 11022, 1).ok());
  EXPECT_TRUE(orders.Add("o", "y", 5, 2).ok());
  EXPECT_TRUE(Is(orders.Add("o", "x", 11023, 1), Error::kPriceChanged));
  EXPECT_TRUE(Is(orders.Add("none", "x", 1, 1), Error::kOrderNotFound));
  EXPECT_TRUE(Is(orders.Add("o", "x", 1, 0), Error::kInvalidAmount));
  EXPECT_TRUE(Is(orders.Add("o", "x", INT64_MAX, 2), Error::kInvalidAmount));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&orders, t] {
      for (int i = 0; i < 10; ++i) {
        Status status = orders.Add("o", "z" + std::to_string(i % 3), 7, t + 1);
        EXPECT_TRUE(status.ok() || Is(status, Error::kContention)) << status.ToString();
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  Order order = *orders.Get("o");
  int64_t sum = 0;
  for (const OrderItem& item : order.items) {
    sum += item.quantity * item.price;
  }
  EXPECT_EQ(order.total, sum);
  EXPECT_EQ(order.items.size(), 5u);
}

INSTANTIATE_TEST_SUITE_P(Places, TransfersTest, ::testing::Values(Place::kEmbedded, Place::kServed),
                         [](const auto& place) { return PlaceName(place.param); });

}  // namespace
}  // namespace quire::patterns
