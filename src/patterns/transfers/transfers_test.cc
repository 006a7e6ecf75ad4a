// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/transfers.h"

#include <gtest/gtest.h>

#include <thread>

#include "patterns/testing/bank.h"
#include "patterns/testing/world.h"
#include "quire/patterns/orders.h"

namespace quire::patterns {
namespace {

using bson::Document;
using std::chrono::hours;
using std::chrono::minutes;

constexpr Backend kBackends[] = {Backend::kCompensating, Backend::kTransactional};

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
  ExpectAllEnded(&world_);
}

// The documents after each step of moving 60 from 100, and what the jobs make of them.
TEST_P(TransfersTest, EveryStepIsAsDescribed) {
  struct {
    int step;
    const char* state;
    int64_t a, b;  // balances
    const char *a_txns, *b_txns;
    int64_t pending;
  } const kRows[] = {{1, "new", 100, 0, "", "", 0},    {2, "new", 40, 0, "k", "", 60},
                     {3, "new", 40, 0, "k", "k", 60},  {4, "commit", 40, 0, "k", "k", 0},
                     {5, "commit", 40, 0, "", "k", 0}, {6, "commit", 40, 60, "", "", 0},
                     {7, "done", 40, 60, "", "", 0}};
  auto account = [](const char* id, int64_t balance, const char* txn, bool voided) {
    return Doc("_id", id, "balance", balance, "txns", *txn != 0 ? List(txn) : List(), "voided",
               voided ? List("k") : List());
  };
  for (const auto& row : kRows) {
    SCOPED_TRACE(row.step);
    World world(GetParam());
    OpenTwo(&world);
    TestCrash crash;
    crash.at = "transfers.transfer.c" + std::to_string(row.step);
    Transfers client = BankOf(&world, Backend::kCompensating, world.seams(&crash));
    EXPECT_TRUE(Is(client.Transfer(60, "a", "b", "k").status(), Error::kCrashed));
    EXPECT_EQ(world.All("accounts").at(0).bytes(), account("a", row.a, row.a_txns, false).bytes());
    EXPECT_EQ(world.All("accounts").at(1).bytes(), account("b", row.b, row.b_txns, false).bytes());
    const bson::Date start = world.clock.Now();
    const bson::Value ended_at = row.step == 7 ? bson::Value(start) : bson::Value();
    EXPECT_EQ(world.All("transactions").at(0).bytes(),
              Doc("_id", "k", "amt", int64_t{60}, "src", "a", "dst", "b", "state", row.state, "ts",
                  start, "ended", ended_at)
                  .bytes());
    EXPECT_EQ(BankOf(&world).GetBalance("a")->pending_out, row.pending);
    EXPECT_EQ(*BankOf(&world).GetTotal(), 100);

    SettleBank(&world);
    const bool undone = row.step <= 3;
    EXPECT_EQ(world.All("accounts").at(0).bytes(),
              account("a", undone ? 100 : 40, "", undone).bytes());
    EXPECT_EQ(world.All("accounts").at(1).bytes(),
              account("b", undone ? 0 : 60, "", undone).bytes());
    auto ended = BankOf(&world).GetStatus(bson::Value("k"));
    EXPECT_EQ(ended->state, undone ? "rolled_back" : "done");
    EXPECT_EQ(ended->error, undone ? "TransactionExpired" : "");
    EXPECT_EQ(*BankOf(&world).GetTotal(), 100);
  }
}

// Who was paused until the jobs have decided learns what they have decided.
TEST_P(TransfersTest, LateClientsLearnTheOutcome) {
  for (int step = 1; step <= 7; ++step) {
    World world(GetParam());
    OpenTwo(&world);
    TestCrash crash;
    crash.at = "transfers.transfer.c" + std::to_string(step);
    crash.action = [&] {
      SettleBank(&world);
      return true;
    };
    auto moved = BankOf(&world, Backend::kCompensating, world.seams(&crash)).Transfer(60, "a", "b");
    EXPECT_EQ(ErrorName(moved.status()), step <= 3 ? "TransactionExpired" : "OK") << step;
    EXPECT_EQ(BalanceOf(&world, "a"), step <= 3 ? 100 : 40) << step;
    ExpectAllEnded(&world);
  }
}

TEST_P(TransfersTest, NothingIsUndoneBeforeItsTime) {
  OpenTwo(&world_);
  TestCrash crash;
  crash.at = "transfers.transfer.c2";
  (void)BankOf(&world_, Backend::kCompensating, world_.seams(&crash)).Transfer(60, "a", "b");
  world_.clock.Advance(minutes(1));
  EXPECT_EQ(BankOf(&world_).Cleanup()->changed, 0);
  EXPECT_EQ(BalanceOf(&world_, "a"), 40);
  world_.clock.Advance(std::chrono::milliseconds(1));
  EXPECT_EQ(BankOf(&world_).Cleanup()->changed, 2);
  EXPECT_EQ(BalanceOf(&world_, "a"), 100);
}

// What one back end has begun, or ended, the other goes on with.
TEST_P(TransfersTest, BackEndsSideBySide) {
  for (int step = 1; step <= 7; ++step) {
    World world(GetParam());
    OpenTwo(&world);
    TestCrash crash;
    crash.at = "transfers.transfer.c" + std::to_string(step);
    (void)BankOf(&world, Backend::kCompensating, world.seams(&crash)).Transfer(60, "a", "b", "k");
    for (Backend backend : {Backend::kTransactional, Backend::kCompensating}) {
      auto moved = BankOf(&world, backend).Transfer(60, "a", "b", "k");
      ASSERT_TRUE(moved.ok()) << step << moved.status().ToString();
      EXPECT_EQ(moved->state, "done") << step;
      EXPECT_EQ(BalanceOf(&world, "b"), 60) << step;
    }
    ExpectAllEnded(&world);
  }
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
    EXPECT_TRUE(Is(bank.Transfer(60, "a", "c", "k").status(), Error::kIdempotencyKeyReuse));
    EXPECT_TRUE(Is(bank.Transfer(60, "c", "b", "k").status(), Error::kIdempotencyKeyReuse));
    EXPECT_TRUE(Is(bank.Transfer(60, "a", "b", "").status(), Error::kInvalidName));
    ExpectConserved(&world, 100);
    EXPECT_EQ(world.All("transactions").size(), 3u);  // two keys, and one without
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
  SettleBank(&world_);
  EXPECT_EQ(bank.GetBalance("a")->balance, 100);
  EXPECT_EQ(bank.GetBalance("a")->pending_out, 0);
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
    SettleBank(&world);
    ExpectAllEnded(&world);
    ExpectConserved(&world, 100);
  }
}

TEST_P(TransfersTest, PurgeForgetsWithTheTombstones) {
  OpenTwo(&world_);
  Transfers bank = BankOf(&world_);
  ASSERT_TRUE(bank.Transfer(10, "a", "b").ok());
  ASSERT_FALSE(bank.Transfer(500, "a", "b").ok());
  EXPECT_EQ(bank.Purge()->changed, 0);
  world_.clock.Advance(hours(24));
  EXPECT_EQ(bank.Purge()->changed, 0);
  world_.clock.Advance(std::chrono::milliseconds(1));
  EXPECT_EQ(bank.Purge()->changed, 2);
  EXPECT_TRUE(world_.All("transactions").empty());
  for (const Document& account : world_.All("accounts")) {
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
    threads.emplace_back([&world] {
      for (int i = 0; i < 20; ++i) {
        auto total = BankOf(&world).GetTotal();
        ASSERT_TRUE(total.ok()) << total.status().ToString();
        EXPECT_EQ(*total, kAccounts * 100);
      }
    });
    for (std::thread& thread : threads) {
      thread.join();
    }
    ExpectConserved(&world, kAccounts * 100);
    SettleBank(&world);
    ExpectAllEnded(&world);
    ExpectConserved(&world, kAccounts * 100);
  }
}

TEST_P(TransfersTest, QueriesUseTheIndexes) {
  EXPECT_EQ(BankOf(&world_).MissingIndexes()->size(), 2u);
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
  EXPECT_EQ(orders.MissingIndexes()->size(), 1u);
  ASSERT_TRUE(orders.CreateIndexes().ok());
  EXPECT_TRUE(orders.MissingIndexes()->empty());
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(orders.Add("o", "y", 5, 1, "more").ok());
    EXPECT_TRUE(Is(orders.Add("o", "y", 5, 2, "more"), Error::kIdempotencyKeyReuse));
  }
  EXPECT_EQ(orders.Get("o")->total, 4 * 11022 + 15);
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

// Takes the article out of the order before each write that needs it there, and puts it back before
// each that needs it away.
class Meddler : public FaultHook {
 public:
  explicit Meddler(World* world) : world_(world) {}
  Fault BeforeWrite() override {
    const Document article = Doc("sku", "x", "qty", int64_t{1}, "price", int64_t{5});
    const Document change = ++writes % 2 == 1 ? Doc("$pull", Doc("items", Doc("sku", "x")))
                                              : Doc("$push", Doc("items", article));
    EXPECT_EQ(*world_->store.UpdateOne("orders", Doc("_id", "o"), change), 1);
    return Fault::kNone;
  }
  int writes = 0;

 private:
  World* world_;
};

TEST_P(TransfersTest, AnOrderThatKeepsChangingIsLeft) {
  Orders orders(world_.client, world_.database, world_.seams());
  ASSERT_TRUE(orders.Create("o").ok());
  ASSERT_TRUE(orders.Add("o", "x", 5, 1).ok());
  Meddler meddler(&world_);
  Orders unlucky(world_.client, world_.database, world_.seams(nullptr, &meddler));
  EXPECT_TRUE(Is(unlucky.Add("o", "x", 5, 1), Error::kContention));
  EXPECT_EQ(meddler.writes, 10);  // five times two
  EXPECT_EQ(orders.Get("o")->total, 5);
  ExpectNothingWrong(orders.CheckInvariants());
}

TEST_P(TransfersTest, AFullOrderRefuses) {
  Orders orders(world_.client, world_.database, world_.seams());
  ASSERT_TRUE(orders.Create("o").ok());
  const std::string large(6 << 20, 's');
  ASSERT_TRUE(orders.Add("o", large + "1", 5, 1).ok());
  ASSERT_TRUE(orders.Add("o", large + "2", 5, 1).ok());
  EXPECT_TRUE(Is(orders.Add("o", large + "3", 5, 1), Error::kDocumentTooLarge));
  EXPECT_EQ(orders.Get("o")->total, 10);
  ExpectNothingWrong(orders.CheckInvariants());
}

INSTANTIATE_TEST_SUITE_P(Places, TransfersTest, ::testing::Values(Place::kEmbedded, Place::kServed),
                         [](const auto& place) { return PlaceName(place.param); });

}  // namespace
}  // namespace quire::patterns
