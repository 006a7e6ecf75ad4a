// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "patterns/testing/random_crash.h"
#include "patterns/testing/shop.h"

namespace quire::patterns {
namespace {

using std::chrono::minutes;

constexpr Backend kBackends[] = {Backend::kCompensating, Backend::kTransactional};

class InventoryCrashTest : public ::testing::TestWithParam<Place> {};

using Operation = std::function<Status(const Inventory&, const std::string&, const CallKey&)>;
struct OperationCase {
  const char* name;
  Operation run;
  int min_runs;
  int64_t booked = 0;  // what it adds to the stock of z
};

const OperationCase kOperations[] = {
    {"add", [](auto& i, auto& c, auto& k) { return i.AddItem(c, {.sku = "z", .price = 3}, k); },
     10},
    {"more", [](auto& i, auto& c, auto& k) { return i.AddItem(c, {.sku = "x", .price = 7}, k); },
     10},
    {"increase", [](auto& i, auto& c, auto& k) { return i.SetQuantity(c, "x", 2, 5, k); }, 10},
    {"decrease", [](auto& i, auto& c, auto& k) { return i.SetQuantity(c, "x", 2, 1, k); }, 10},
    {"remove", [](auto& i, auto& c, auto& k) { return i.SetQuantity(c, "x", 2, 0, k); }, 10},
    {"checkout", [](auto& i, auto& c, auto& k) { return i.Checkout(c, k); }, 25},
    {"new cart", [](auto& i, auto&, auto& k) { return i.NewCart(k).status(); }, 5},
    {"restock", [](auto& i, auto&, auto& k) { return i.Restock("z", 4, k); }, 5, 4},
    {"write off", [](auto& i, auto&, auto& k) { return i.WriteOff("z", 2, k); }, 5, -2},
    {"refused", [](auto& i, auto& c, auto& k) { return i.SetQuantity(c, "x", 2, 99, k); }, 1},
};

// Every operation at every point; carts live on while the jobs run, or expire.
void CrashTest(Place place, Backend backend, const OperationCase& row, bool expire, bool keyed) {
  SCOPED_TRACE(std::string(row.name) + (backend == kBackends[0] ? " steps" : " tx") +
               (expire ? " expire" : "") + (keyed ? " keyed" : ""));
  Shop shop;
  Shop::Books books;
  const CallKey key = keyed ? CallKey("k") : std::nullopt;
  CrashCase test;
  test.once = [&](World* world) {
    OpenShop(world, &shop);
    ASSERT_TRUE(shop.At(world).Restock("z", 5).ok());
    shop.received["z"] = 5;
    books = shop.Keep();
  };
  test.setup = [&](World*) { shop.Return(books); };
  test.operation = [&](World* world, const Seams& seams) {
    shop.open["z"] = {row.booked};
    Status first = row.run(shop.At(world, backend, seams), shop.cart, key);
    Status last = first;
    if (keyed && !first.ok()) {
      last = row.run(shop.At(world, backend), shop.cart, key);
      EXPECT_TRUE(last.ok() || IsFinal(last)) << last.ToString();
    }
    if (last.ok()) {
      shop.received["z"] += row.booked;
      shop.open.clear();
    }
    return first;
  };
  test.settle = [&](World* world) {
    world->clock.Advance(minutes(expire ? 31 : 6));
    RunJobs(world, &shop);
  };
  test.always = [&](World* world) { ExpectStock(world, shop); };
  test.settled = [&](World* world) { ExpectSettled(world, &shop); };
  EXPECT_GE(RunCrashCase(place, test), row.min_runs);
}

TEST_P(InventoryCrashTest, SurvivesEveryCrashAndLateWrite) {
  for (const OperationCase& row : kOperations) {
    for (Backend backend : kBackends) {
      for (bool expire : {false, true}) {
        for (bool keyed : KeyedAt(GetParam())) {
          CrashTest(GetParam(), backend, row, expire, keyed);
        }
      }
    }
  }
}

// Between the transactions of a checkout, where no document is held.
TEST_P(InventoryCrashTest, ALateCheckoutOfTransactionsEndsRight) {
  for (const char* point : {"inventory.transact.c2", "inventory.checkout.c3"}) {
    SCOPED_TRACE(point);
    World world(GetParam());
    Shop shop;
    OpenShop(&world, &shop);
    TestCrash crash;
    crash.at = point;
    crash.action = [&] {
      world.clock.Advance(minutes(31));
      RunJobs(&world, &shop);
      ExpectStock(&world, shop);
      ExpectSettled(&world, &shop);
      return true;
    };
    (void)shop.At(&world, Backend::kTransactional, world.seams(&crash)).Checkout(shop.cart);
    EXPECT_TRUE(crash.fired);
    world.clock.Advance(minutes(31));
    RunJobs(&world, &shop);
    ExpectStock(&world, shop);
    ExpectSettled(&world, &shop);
  }
}

// The jobs themselves crash at every point and are paused there while others run.
TEST_P(InventoryCrashTest, JobsSurviveTheirOwnCrashes) {
  const struct {
    const char* name;
    std::function<Status(const Inventory&)> run;
  } kJobs[] = {{"expire", [](auto& i) { return i.Expire().status(); }},
               {"recover", [](auto& i) { return i.Recover().status(); }},
               {"cleanup", [](auto& i) { return i.Cleanup().status(); }}};
  for (const auto& job : kJobs) {
    SCOPED_TRACE(job.name);
    Shop shop;
    Shop::Books books;
    CrashCase test;
    test.once = [&](World* world) {
      OpenShop(world, &shop);
      const std::string paying = *shop.At(world).NewCart();
      ASSERT_TRUE(shop.At(world).AddItem(paying, {.sku = "x", .price = 2}).ok());
      TestCrash crash;  // one payment that was charged, one half-done addition
      crash.at = "inventory.checkout.c3";
      (void)shop.At(world, kBackends[0], world->seams(&crash)).Checkout(paying);
      crash.fired = false;
      crash.at = "inventory.add_item.c1";
      const std::string third = *shop.At(world).NewCart();
      (void)shop.At(world, kBackends[0], world->seams(&crash)).AddItem(third, {.sku = "y"});
      world->clock.Advance(minutes(31));
      books = shop.Keep();
    };
    test.setup = [&](World*) { shop.Return(books); };
    test.operation = [&](World* world, const Seams& seams) {
      return job.run(shop.At(world, kBackends[0], seams));
    };
    test.settle = [&](World* world) {
      world->clock.Advance(minutes(6));
      RunJobs(world, &shop);
    };
    test.always = [&](World* world) { ExpectStock(world, shop); };
    test.settled = [&](World* world) { ExpectSettled(world, &shop); };
    EXPECT_GE(RunCrashCase(GetParam(), test), 5);
  }
}

// Shoppers, warehouse, bank and jobs.
class RandomInventory : public RandomWorkload {
 public:
  explicit RandomInventory(Backend backend) : backend_(backend) {}

  void Setup(World* world) override {
    OpenShop(world, &shop_);
    carts_ = {shop_.cart};
  }

  Status Step(World* world, const Seams& seams, Chance* chance) override {
    Inventory inventory = shop_.At(world, backend_, seams);
    const std::string sku = chance->OneIn(2) ? "x" : "y";
    switch (chance->Below(12)) {
      case 0:
        return Open(inventory, chance);
      case 1:
        return Book(inventory, sku, chance);
      case 2:
      case 3:
        return Jobs(world, inventory, chance);
      case 4:
      case 5:
        return Pay(inventory, chance);
      case 6:
      case 7:
      case 8:
        return Change(inventory, sku, chance);
      default: {
        const int64_t n = 1 + chance->Below(4);
        const std::string cart = chance->Pick(carts_);
        chance->Note("add " + std::to_string(n) + " " + sku + " to " + cart);
        return inventory.AddItem(cart, {.sku = sku, .quantity = n, .price = 3}, Key(chance));
      }
    }
  }

  void Settle(World* world) override {
    world->clock.Advance(minutes(++settled_ % 3 == 0 ? 31 : 6));
    shop_.gateway.answer = PaymentGateway::Charged::kCharged;
    RunJobs(world, &shop_);
  }

  void ExpectAlways(World* world) override { ExpectStock(world, shop_); }
  void ExpectSettled(World* world) override { patterns::ExpectSettled(world, &shop_); }

  void Rest(World* world) override {
    world->clock.Advance(std::chrono::hours(25));
    EXPECT_TRUE(shop_.At(world).PurgeKeys().ok());
  }

 private:
  // Now and then one, never twice.
  CallKey Key(Chance* chance) {
    return chance->OneIn(2) ? CallKey("k" + std::to_string(++keys_)) : std::nullopt;
  }

  Status Open(const Inventory& inventory, Chance* chance) {
    chance->Note("new cart");
    auto cart = inventory.NewCart(Key(chance));
    if (cart.ok()) {
      carts_.push_back(*cart);
    }
    return cart.status();
  }

  Status Book(const Inventory& inventory, const std::string& sku, Chance* chance) {
    const bool in = chance->OneIn(2);
    const int64_t n = 1 + chance->Below(3);
    chance->Note((in ? "restock " : "write off ") + std::to_string(n) + " " + sku);
    std::vector<int64_t>& open = shop_.open[sku];
    const int64_t change = in ? n : -n;
    open.push_back(change);
    Status status =
        in ? inventory.Restock(sku, n, Key(chance)) : inventory.WriteOff(sku, n, Key(chance));
    if (status.ok() || IsFinal(status)) {
      open.erase(std::find(open.begin(), open.end(), change));
      shop_.received[sku] += status.ok() ? change : 0;
    }
    return status;
  }

  static Status Jobs(World* world, const Inventory& inventory, Chance* chance) {
    world->clock.Advance(minutes(chance->Below(12)));
    const int job = chance->Below(3);
    chance->Note(job == 0 ? "expire" : job == 1 ? "recover" : "cleanup");
    return job == 0   ? inventory.Expire().status()
           : job == 1 ? inventory.Recover().status()
                      : inventory.Cleanup().status();
  }

  Status Pay(const Inventory& inventory, Chance* chance) {
    static constexpr PaymentGateway::Charged kAnswers[] = {
        PaymentGateway::Charged::kCharged, PaymentGateway::Charged::kCharged,
        PaymentGateway::Charged::kDeclined, PaymentGateway::Charged::kUnknown};
    const std::string cart = chance->Pick(carts_);
    shop_.gateway.answer = chance->Pick(kAnswers);
    chance->Note("checkout " + cart + " answer " +
                 std::to_string(static_cast<int>(shop_.gateway.answer)));
    return inventory.Checkout(cart, Key(chance));
  }

  Status Change(const Inventory& inventory, const std::string& sku, Chance* chance) {
    const std::string cart = chance->Pick(carts_);
    int64_t old = 1 + chance->Below(3);
    if (auto now = inventory.GetCart(cart); now.ok() && !now->items.empty()) {
      old = now->items.front().quantity;
    }
    const int64_t to = chance->Below(6);
    chance->Note("set " + sku + " of " + cart + " " + std::to_string(old) + " to " +
                 std::to_string(to));
    return inventory.SetQuantity(cart, sku, old, to, Key(chance));
  }

  Backend backend_;
  Shop shop_;
  std::vector<std::string> carts_;
  int keys_ = 0;
  int settled_ = 0;
};

const RandomSystem kRandom("Inventory", [](Chance* chance) {
  return std::make_unique<RandomInventory>(chance->OneIn(2) ? Backend::kTransactional
                                                            : Backend::kCompensating);
});

INSTANTIATE_TEST_SUITE_P(Places, InventoryCrashTest,
                         ::testing::Values(Place::kEmbedded, Place::kServed),
                         [](const auto& place) { return PlaceName(place.param); });

}  // namespace
}  // namespace quire::patterns
