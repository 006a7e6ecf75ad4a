// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/inventory.h"

#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <random>
#include <set>
#include <thread>

#include "patterns/test_world.h"

namespace quire::patterns {
namespace {

using bson::Document;
using std::chrono::minutes;

constexpr Backend kBackends[] = {Backend::kCompensating, Backend::kTransactional};

class TestGateway : public PaymentGateway {
 public:
  Charged Charge(const std::string& key, int64_t amount) override {
    std::lock_guard lock(mutex);
    if (answer == Charged::kDeclined || cancelled.contains(key)) {
      return Charged::kDeclined;
    }
    charged.emplace(key, amount);
    return answer;  // kUnknown: charged, but the answer is lost
  }
  Cancelled Cancel(const std::string& key) override {
    std::lock_guard lock(mutex);
    if (charged.contains(key)) {
      return Cancelled::kAlreadyCharged;
    }
    cancelled.insert(key);
    return Cancelled::kCancelled;
  }

  std::mutex mutex;
  Charged answer = Charged::kCharged;
  std::map<std::string, int64_t> charged;
  std::set<std::string> cancelled;
};

// A world with its gateway and what it has received.
struct Shop {
  TestGateway gateway;
  std::map<std::string, int64_t> received;
  std::string cart;
  bool running = false;

  Inventory At(World* world, Backend backend, const Seams& seams) {
    return Inventory(world->client, world->database,
                     {.backend = backend, .gateway = &gateway, .seams = seams});
  }
  Inventory At(World* world, Backend backend = Backend::kCompensating) {
    return At(world, backend, world->seams());
  }
};

std::vector<Document> All(World* world, std::string_view collection) {
  auto found = world->store.Find(collection, Doc());
  EXPECT_TRUE(found.ok()) << found.status().ToString();
  return found.ok() ? *found : std::vector<Document>();
}

// I1, I2, I5, and I4 by the gateway's own books.
void ExpectStock(World* world, const Shop& shop) {
  for (const Document& product : All(world, "product")) {
    int64_t sum = IntegerAt(product, "qty") + IntegerAt(product, "sold");
    EXPECT_GE(IntegerAt(product, "qty"), 0);
    std::set<std::string> carts;
    for (const bson::Element& entry : product["carted"].AsArray()) {
      sum += IntegerAt(entry.value().AsDocument(), "qty");
      EXPECT_TRUE(carts.insert(std::string(TextAt(entry.value().AsDocument(), "cart_id"))).second);
    }
    EXPECT_EQ(sum, shop.received.at(std::string(TextAt(product, "_id"))))
        << bson::ToJson(product.view());
  }
}

// I3: what was sold is what complete carts hold, and was paid for; active carts have their stock.
void ExpectSettled(World* world, Shop* shop) {
  std::map<std::string, int64_t> sold;
  std::map<std::string, int64_t> paid;
  std::map<std::pair<std::string, std::string>, int64_t> lines;
  for (const Document& cart : All(world, "cart")) {
    const std::string status(TextAt(cart, "status"));
    EXPECT_TRUE(status == "active" || status == "complete" || status == "expired") << status;
    EXPECT_EQ(cart["settled"].AsBool(), status == "complete");
    for (const bson::Element& element : cart["items"].AsArray()) {
      bson::View item = element.value().AsDocument();
      if (status == "complete") {
        sold[std::string(TextAt(item, "sku"))] += IntegerAt(item, "qty");
        paid[std::string(TextAt(cart, "pay_key"))] +=
            IntegerAt(item, "qty") * IntegerAt(item, "price");
      } else if (status == "active") {
        lines[{std::string(TextAt(cart, "_id")), std::string(TextAt(item, "sku"))}] =
            IntegerAt(item, "qty");
      }
    }
  }
  EXPECT_EQ(shop->gateway.charged, paid);
  std::map<std::pair<std::string, std::string>, int64_t> entries;
  for (const Document& product : All(world, "product")) {
    EXPECT_EQ(IntegerAt(product, "sold"), sold[std::string(TextAt(product, "_id"))]);
    for (const bson::Element& element : product["carted"].AsArray()) {
      bson::View entry = element.value().AsDocument();
      EXPECT_TRUE(entry["pin"].nullish());
      entries[{std::string(TextAt(entry, "cart_id")), std::string(TextAt(product, "_id"))}] =
          IntegerAt(entry, "qty");
    }
  }
  for (const auto& [line, quantity] : entries) {
    EXPECT_TRUE(lines.contains(line)) << line.first << line.second;
    EXPECT_LE(quantity, lines[line]);  // less: the cart was written after the clean-up
  }
}

void RunJobs(World* world, Shop* shop) {
  Inventory jobs = shop->At(world);
  for (int i = 0; i < 10; ++i) {
    int64_t changed = 0;
    for (auto report : {jobs.Expire(), jobs.Recover(), jobs.Cleanup()}) {
      ASSERT_TRUE(report.ok()) << report.status().ToString();
      EXPECT_EQ(report->errors, 0);
      changed += report->changed;
    }
    if (changed == 0) {
      return;
    }
    world->clock.Advance(minutes(6));  // what was just touched is looked at again
  }
  FAIL() << "the jobs never end";
}

// 10 of x and of y; the cart has 2 of x and 3 of y.
void OpenShop(World* world, Shop* shop) {
  Inventory inventory = shop->At(world);
  ASSERT_TRUE(inventory.CreateIndexes().ok());
  for (const char* sku : {"x", "y"}) {
    ASSERT_TRUE(inventory.Restock(sku, 10).ok());
    shop->received[sku] = 10;
  }
  shop->cart = *inventory.NewCart();
  ASSERT_TRUE(inventory.AddItem(shop->cart, {.sku = "x", .quantity = 2, .price = 7}).ok());
  ASSERT_TRUE(inventory.AddItem(shop->cart, {.sku = "y", .quantity = 3, .price = 5}).ok());
}

class InventoryTest : public ::testing::TestWithParam<Place> {
 protected:
  World world_{GetParam()};
  Shop shop_;
};

TEST_P(InventoryTest, SellsWhatItHas) {
  for (Backend backend : kBackends) {
    World world(GetParam());
    Shop shop;
    Inventory inventory = shop.At(&world, backend);
    ASSERT_TRUE(inventory.CreateIndexes().ok());
    ASSERT_TRUE(inventory.Restock("a", 19).ok());
    shop.received["a"] = 19;
    const std::string c42 = *inventory.NewCart();
    const std::string c43 = *inventory.NewCart();
    EXPECT_EQ(c42.size(), 32u);
    ASSERT_TRUE(inventory.AddItem(c42, {.sku = "a", .quantity = 1, .price = 3}).ok());
    ASSERT_TRUE(inventory.AddItem(c43, {.sku = "a", .quantity = 2, .price = 3}).ok());
    EXPECT_EQ(inventory.GetStock("a")->available, 16);
    ASSERT_TRUE(inventory.SetQuantity(c43, "a", 2, 5).ok());
    EXPECT_EQ(inventory.GetStock("a")->available, 13);
    EXPECT_EQ(inventory.GetStock("a")->carted, 6);
    ASSERT_TRUE(inventory.Checkout(c43).ok());
    EXPECT_EQ(inventory.GetStock("a")->sold, 5);
    EXPECT_EQ(inventory.GetCart(c43)->status, "complete");
    EXPECT_TRUE(inventory.GetCart(c43)->settled);
    EXPECT_EQ(shop.gateway.charged.begin()->second, 15);
    world.clock.Advance(minutes(31));
    RunJobs(&world, &shop);
    EXPECT_EQ(inventory.GetStock("a")->available, 14);
    EXPECT_EQ(inventory.GetCart(c42)->status, "expired");
    ExpectStock(&world, shop);
    ExpectSettled(&world, &shop);
  }
}

TEST_P(InventoryTest, RefusalsChangeNothing) {
  for (Backend backend : kBackends) {
    World world(GetParam());
    Shop shop;
    OpenShop(&world, &shop);
    Inventory inventory = shop.At(&world, backend);
    const std::string& cart = shop.cart;
    const std::string empty = *inventory.NewCart();
    const struct {
      const char* error;
      std::function<Status()> call;
    } kCalls[] = {
        {"InvalidQuantity", [&] { return inventory.AddItem(cart, {.sku = "x", .quantity = 0}); }},
        {"InvalidPrice", [&] { return inventory.AddItem(cart, {.sku = "x", .price = -1}); }},
        {"UnknownSku", [&] { return inventory.AddItem(cart, {.sku = "none"}); }},
        {"InadequateInventory",
         [&] { return inventory.AddItem(empty, {.sku = "x", .quantity = 9}); }},
        {"InadequateInventory",
         [&] { return inventory.AddItem(cart, {.sku = "x", .quantity = 9}); }},
        {"CartInactive", [&] { return inventory.AddItem("none", {.sku = "x"}); }},
        {"Conflict", [&] { return inventory.SetQuantity(cart, "x", 1, 5); }},
        {"Conflict", [&] { return inventory.SetQuantity(cart, "x", 3, 1); }},
        {"CartInactive", [&] { return inventory.SetQuantity("none", "x", 2, 1); }},
        {"CartInactive", [&] { return inventory.SetQuantity("none", "x", 1, 2); }},
        {"InvalidQuantity", [&] { return inventory.SetQuantity(cart, "x", 2, -1); }},
        {"EmptyCart", [&] { return inventory.Checkout(empty); }},
        {"CartInactive", [&] { return inventory.Checkout("none"); }},
        {"InvalidQuantity", [&] { return inventory.Restock("x", 0); }},
        {"InadequateInventory", [&] { return inventory.WriteOff("x", 9); }},
        {"UnknownSku", [&] { return inventory.WriteOff("none", 1); }},
    };
    for (const auto& row : kCalls) {
      EXPECT_EQ(ErrorName(row.call()), row.error);
      ExpectStock(&world, shop);
    }
    EXPECT_EQ(inventory.GetStock("x")->available, 8);
    EXPECT_EQ(ErrorName(inventory.GetStock("none").status()), "UnknownSku");
    EXPECT_EQ(ErrorName(inventory.GetCart("none").status()), "NotFound");

    ASSERT_TRUE(inventory.AddItem(cart, {.sku = "x", .quantity = 3, .price = 7}).ok());  // grows
    EXPECT_EQ(inventory.GetCart(cart)->items[0].quantity, 5);
    ASSERT_TRUE(inventory.SetQuantity(cart, "x", 5, 0).ok());
    EXPECT_EQ(inventory.GetCart(cart)->items.size(), 1u);
    EXPECT_EQ(inventory.GetStock("x")->available, 10);

    shop.gateway.answer = PaymentGateway::Charged::kDeclined;
    EXPECT_EQ(ErrorName(inventory.Checkout(cart)), "PaymentFailed");
    EXPECT_EQ(inventory.GetCart(cart)->status, "active");
    ExpectStock(&world, shop);
    ASSERT_TRUE(inventory.WriteOff("x", 4).ok());
    shop.received["x"] -= 4;
    ExpectStock(&world, shop);

    shop.gateway.answer = PaymentGateway::Charged::kUnknown;
    EXPECT_EQ(ErrorName(inventory.Checkout(cart)), "PaymentPending");
    EXPECT_EQ(ErrorName(inventory.AddItem(cart, {.sku = "x"})), "CartInactive");
    EXPECT_EQ(inventory.GetCart(cart)->status, "pending");
    world.clock.Advance(minutes(6));
    RunJobs(&world, &shop);
    EXPECT_EQ(inventory.GetCart(cart)->status, "complete");
    ExpectStock(&world, shop);
    ExpectSettled(&world, &shop);
  }
}

// A line whose stock went away (a cart write that came after the clean-up) is not sold.
TEST_P(InventoryTest, CheckoutCatchesALineWithoutStock) {
  for (Backend backend : kBackends) {
    World world(GetParam());
    Shop shop;
    OpenShop(&world, &shop);
    Inventory inventory = shop.At(&world, backend);
    ASSERT_TRUE(world.store
                    .UpdateOne("product", Doc("_id", "y"),
                               Doc("$set", Doc("carted", List(), "qty", int64_t{2})))
                    .ok());
    shop.received["y"] = 2;
    EXPECT_EQ(ErrorName(inventory.Checkout(shop.cart)), "LineUnavailable");
    EXPECT_EQ(inventory.GetCart(shop.cart)->status, "active");
    EXPECT_TRUE(shop.gateway.charged.empty());
    ExpectStock(&world, shop);
    ASSERT_TRUE(inventory.Restock("y", 1).ok());
    shop.received["y"] += 1;
    ASSERT_TRUE(inventory.Checkout(shop.cart).ok());
    ExpectStock(&world, shop);
    ExpectSettled(&world, &shop);
  }
}

TEST_P(InventoryTest, KeysGiveTheFirstOutcome) {
  for (Backend backend : kBackends) {
    World world(GetParam());
    Shop shop;
    OpenShop(&world, &shop);
    Inventory inventory = shop.At(&world, backend);
    for (int i = 0; i < 2; ++i) {
      ASSERT_TRUE(inventory.Restock("x", 5, "r").ok());
      ASSERT_TRUE(inventory.WriteOff("x", 5, "w").ok());
      ASSERT_TRUE(inventory.AddItem(shop.cart, {.sku = "x", .quantity = 1, .price = 7}, "a").ok());
      ASSERT_TRUE(inventory.SetQuantity(shop.cart, "y", 3, 1, "s").ok());
      EXPECT_EQ(ErrorName(inventory.SetQuantity(shop.cart, "y", 3, 2, "t")), "Conflict");
      EXPECT_EQ(*inventory.NewCart("c"), *inventory.NewCart("c"));
    }
    EXPECT_EQ(inventory.GetStock("x")->available, 7);
    EXPECT_EQ(inventory.GetStock("y")->available, 9);
    ASSERT_TRUE(inventory.Checkout(shop.cart, "p").ok());
    ASSERT_TRUE(inventory.Checkout(shop.cart, "p").ok());
    EXPECT_EQ(shop.gateway.charged.size(), 1u);
    ExpectStock(&world, shop);
    ExpectSettled(&world, &shop);
  }
}

using Operation = std::function<Status(const Inventory&, const std::string&, const CallKey&)>;
struct OperationCase {
  const char* name;
  Operation run;
  int min_runs;
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
};

// Every operation at every point; carts live on while the jobs run, or expire.
void CrashTest(Place place, Backend backend, const OperationCase& row, bool expire, bool keyed) {
  SCOPED_TRACE(std::string(row.name) + (backend == kBackends[0] ? " steps" : " tx") +
               (expire ? " expire" : "") + (keyed ? " keyed" : ""));
  std::map<World*, std::unique_ptr<Shop>> shops;
  const CallKey key = keyed ? CallKey("k") : std::nullopt;
  CrashCase test;
  test.setup = [&](World* world) {
    shops[world] = std::make_unique<Shop>();
    OpenShop(world, shops[world].get());
    ASSERT_TRUE(shops[world]->At(world).Restock("z", 5).ok());
    shops[world]->received["z"] = 5;
  };
  test.operation = [&](World* world, const Seams& seams) {
    Shop* shop = shops[world].get();
    shop->running = true;
    Status first = row.run(shop->At(world, backend, seams), shop->cart, key);
    if (keyed && !first.ok()) {
      (void)row.run(shop->At(world, backend), shop->cart, key);
    }
    shop->running = false;
    return first;
  };
  test.settle = [&](World* world) {
    Shop* shop = shops[world].get();
    // A paused transaction would keep the jobs waiting: they find nothing old then.
    if (backend == Backend::kCompensating || !shop->running) {
      world->clock.Advance(minutes(expire ? 31 : 6));
    }
    RunJobs(world, shop);
  };
  test.always = [&](World* world) { ExpectStock(world, *shops[world]); };
  test.settled = [&](World* world) {
    Shop* shop = shops[world].get();
    if (backend == Backend::kCompensating || !shop->running) {
      ExpectSettled(world, shop);
    }
  };
  EXPECT_GE(RunCrashCase(place, test), row.min_runs);
}

TEST_P(InventoryTest, SurvivesEveryCrashAndLateWrite) {
  for (const OperationCase& row : kOperations) {
    for (Backend backend : kBackends) {
      for (int variant = 0; variant < 4; ++variant) {
        const bool expire = (variant & 1) != 0;
        const bool keyed = (variant & 2) != 0;
        // The same code everywhere: samples of transactions, and of the slower place.
        const bool sample = variant == (backend == kBackends[0] ? 2 : 1);
        const bool all =
            GetParam() == Place::kEmbedded && (backend == kBackends[0] || variant == 2);
        if (all || sample) {
          CrashTest(GetParam(), backend, row, expire, keyed);
        }
      }
    }
  }
}

// Between the transactions of a checkout, where no document is held.
TEST_P(InventoryTest, ALateCheckoutOfTransactionsEndsRight) {
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
TEST_P(InventoryTest, JobsSurviveTheirOwnCrashes) {
  const struct {
    const char* name;
    std::function<Status(const Inventory&)> run;
  } kJobs[] = {{"expire", [](auto& i) { return i.Expire().status(); }},
               {"recover", [](auto& i) { return i.Recover().status(); }},
               {"cleanup", [](auto& i) { return i.Cleanup().status(); }}};
  for (const auto& job : kJobs) {
    SCOPED_TRACE(job.name);
    std::map<World*, std::unique_ptr<Shop>> shops;
    CrashCase test;
    test.setup = [&](World* world) {
      shops[world] = std::make_unique<Shop>();
      Shop* shop = shops[world].get();
      OpenShop(world, shop);
      const std::string paying = *shop->At(world).NewCart();
      ASSERT_TRUE(shop->At(world).AddItem(paying, {.sku = "x", .price = 2}).ok());
      TestCrash crash;  // one payment that was charged, one half-done addition
      crash.at = "inventory.checkout.c3";
      (void)shop->At(world, kBackends[0], world->seams(&crash)).Checkout(paying);
      crash.fired = false;
      crash.at = "inventory.add_item.c1";
      const std::string third = *shop->At(world).NewCart();
      (void)shop->At(world, kBackends[0], world->seams(&crash)).AddItem(third, {.sku = "y"});
      world->clock.Advance(minutes(31));
    };
    test.operation = [&](World* world, const Seams& seams) {
      return job.run(shops[world]->At(world, kBackends[0], seams));
    };
    test.settle = [&](World* world) {
      world->clock.Advance(minutes(6));
      RunJobs(world, shops[world].get());
    };
    test.always = [&](World* world) { ExpectStock(world, *shops[world]); };
    test.settled = [&](World* world) { ExpectSettled(world, shops[world].get()); };
    EXPECT_GE(RunCrashCase(GetParam(), test), 5);
  }
}

TEST_P(InventoryTest, ManyShoppersAndJobs) {
  for (Backend backend : kBackends) {
    World world(GetParam());
    Shop shop;
    Inventory setup = shop.At(&world);
    ASSERT_TRUE(setup.CreateIndexes().ok());
    for (const char* sku : {"x", "y"}) {
      ASSERT_TRUE(setup.Restock(sku, 30).ok());
      shop.received[sku] = 30;
    }
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        std::mt19937 random(static_cast<unsigned>(t));
        Inventory inventory = shop.At(&world, backend);
        for (int i = 0; i < 6; ++i) {
          const std::string cart = *inventory.NewCart();
          for (const char* sku : {"x", "y"}) {
            const auto n = static_cast<int64_t>(random() % 3 + 1);
            if (inventory.AddItem(cart, {.sku = sku, .quantity = n, .price = 2}).ok()) {
              (void)inventory.SetQuantity(cart, sku, n, static_cast<int64_t>(random() % 5));
            }
          }
          if (random() % 3 != 0) {
            (void)inventory.Checkout(cart);
          }
        }
      });
    }
    threads.emplace_back([&] {
      for (int i = 0; i < 10; ++i) {
        world.clock.Advance(minutes(2));
        Inventory jobs = shop.At(&world);
        EXPECT_TRUE(jobs.Expire().ok());
        EXPECT_TRUE(jobs.Recover().ok());
        EXPECT_TRUE(jobs.Cleanup().ok());
      }
    });
    for (std::thread& thread : threads) {
      thread.join();
    }
    ExpectStock(&world, shop);
    world.clock.Advance(minutes(31));
    RunJobs(&world, &shop);
    ExpectStock(&world, shop);
    ExpectSettled(&world, &shop);
  }
}

TEST_P(InventoryTest, QueriesUseTheIndexes) {
  EXPECT_EQ(shop_.At(&world_).MissingIndexes()->size(), Inventory::Indexes().size());
  OpenShop(&world_, &shop_);
  EXPECT_TRUE(shop_.At(&world_).MissingIndexes()->empty());
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(shop_.At(&world_).NewCart().ok());
  }
  const bson::Date later{world_.clock.Now().millis + 1};
  struct {
    const char* collection;
    Document filter;
  } const kQueries[] = {
      {"product", Doc("carted.cart_id", shop_.cart)},
      {"product", Doc("carted.ts", Doc("$lt", later))},
      {"cart", Doc("status", "active", "settled", false, "last_modified", Doc("$lt", later))},
      {"cart", Doc("status", "expiring", "settled", false)},
      {"cart", Doc("status", "complete", "settled", false, "last_modified", Doc("$lt", later))},
  };
  for (const auto& query : kQueries) {
    Explained explained =
        Explain(world_.store, Doc("find", query.collection, "filter", query.filter));
    SCOPED_TRACE(bson::ToJson(query.filter.view()) + explained.plan);
    EXPECT_EQ(explained.plan.find("COLLSCAN"), std::string::npos);
    EXPECT_LE(explained.keys, explained.returned + 1);
  }
}

INSTANTIATE_TEST_SUITE_P(Places, InventoryTest, ::testing::Values(Place::kEmbedded, Place::kServed),
                         [](const auto& place) { return PlaceName(place.param); });

}  // namespace
}  // namespace quire::patterns
