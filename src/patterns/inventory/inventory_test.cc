// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/inventory.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <thread>

#include "patterns/testing/shop.h"
#include "patterns/testing/world.h"

namespace quire::patterns {
namespace {

using bson::Document;
using std::chrono::minutes;

constexpr Backend kBackends[] = {Backend::kCompensating, Backend::kTransactional};

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

// Numbers that a product or a sum of them would not hold.
TEST_P(InventoryTest, SumsThatAreTooLargeAreRefused) {
  for (Backend backend : kBackends) {
    World world(GetParam());
    Shop shop;
    OpenShop(&world, &shop);
    Inventory inventory = shop.At(&world, backend);
    const std::string cart = *inventory.NewCart();
    EXPECT_EQ(ErrorName(inventory.AddItem(
                  cart, {.sku = "x", .quantity = 3, .price = std::numeric_limits<int64_t>::max()})),
              "InvalidQuantity");
    ASSERT_TRUE(
        inventory
            .AddItem(cart,
                     {.sku = "x", .quantity = 1, .price = std::numeric_limits<int64_t>::max()})
            .ok());
    EXPECT_EQ(ErrorName(inventory.AddItem(
                  cart, {.sku = "x", .quantity = std::numeric_limits<int64_t>::max(), .price = 1})),
              "InadequateInventory");
    ASSERT_TRUE(inventory.SetQuantity(cart, "x", 1, 2).ok());
    EXPECT_EQ(ErrorName(inventory.Checkout(cart)), "InvalidPrice");
    EXPECT_EQ(inventory.GetCart(cart)->status, "active");
    EXPECT_TRUE(shop.gateway.charged.empty());
    ExpectStock(&world, shop);
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

TEST_P(InventoryTest, DocumentsHaveTheirFields) {
  Inventory inventory = shop_.At(&world_);
  ASSERT_TRUE(inventory.Restock("x", 10).ok());
  const std::string cart = *inventory.NewCart();
  EXPECT_EQ(cart.find_first_not_of("0123456789abcdef"), std::string::npos);
  const bson::Date now = world_.clock.Now();
  const Document details = Doc("color", "red");
  ASSERT_TRUE(inventory.AddItem(cart, {"x", 2, 7, details}).ok());
  auto product = [&] { return world_.All("product").at(0); };
  auto reserved = [&] {
    const Document found = product();
    return Document(found["carted"].AsArray()["0"].AsDocument());
  };
  const Document added = reserved();
  const Document entry = Doc("cart_id", cart, "qty", int64_t{2}, "ts", now, "pin",
                             bson::Value::Null(), "call", added["call"]);
  EXPECT_EQ(JsonOf(product()),
            JsonOf(Doc("_id", "x", "carted", List(entry), "qty", int64_t{8}, "sold", int64_t{0})));
  const Document item = Doc("sku", "x", "qty", int64_t{2}, "price", int64_t{7}, "details", details);
  EXPECT_EQ(JsonOf(world_.All("cart").at(0)),
            JsonOf(Doc("_id", cart, "status", "active", "last_modified", now, "pay_key",
                       bson::Value::Null(), "items", List(item), "settled", false)));
  world_.clock.Advance(minutes(1));
  shop_.gateway.answer = PaymentGateway::Charged::kUnknown;
  EXPECT_EQ(ErrorName(inventory.Checkout(cart)), "PaymentPending");
  const Document pending = world_.All("cart").at(0);
  EXPECT_EQ(TextAt(pending, "status"), "pending");
  EXPECT_EQ(pending["last_modified"].AsDate(), world_.clock.Now());
  EXPECT_TRUE(shop_.gateway.charged.contains(std::string(TextAt(pending, "pay_key"))));
  const Document pinned = reserved();
  EXPECT_EQ(TextAt(pinned, "pin"), TextAt(pending, "pay_key"));
  EXPECT_EQ(pinned["ts"].AsDate(), world_.clock.Now());
  world_.clock.Advance(minutes(6));
  ASSERT_TRUE(inventory.Recover().ok());
  EXPECT_EQ(TextAt(world_.All("cart").at(0), "status"), "complete");
  EXPECT_EQ(JsonOf(product()),
            JsonOf(Doc("_id", "x", "carted", List(), "qty", int64_t{8}, "sold", int64_t{2})));
}

TEST_P(InventoryTest, NothingLeavesCompleteOrExpired) {
  for (Backend backend : kBackends) {
    World world(GetParam());
    Shop shop;
    OpenShop(&world, &shop);
    Inventory inventory = shop.At(&world, backend);
    const std::string paid = *inventory.NewCart();
    ASSERT_TRUE(inventory.AddItem(paid, {.sku = "x", .price = 1}).ok());
    ASSERT_TRUE(inventory.Checkout(paid).ok());
    world.clock.Advance(minutes(31));
    RunJobs(&world, &shop);
    const struct {
      std::string cart;
      const char* status;
    } kCarts[] = {{paid, "complete"}, {shop.cart, "expired"}};
    for (const auto& [cart, status] : kCarts) {
      EXPECT_EQ(ErrorName(inventory.AddItem(cart, {.sku = "x"})), "CartInactive");
      EXPECT_EQ(ErrorName(inventory.SetQuantity(cart, "x", 1, 2)), "CartInactive");
      EXPECT_EQ(ErrorName(inventory.SetQuantity(cart, "x", 1, 0)), "CartInactive");
      EXPECT_EQ(ErrorName(inventory.Checkout(cart)), "CartInactive");
      world.clock.Advance(minutes(31));
      RunJobs(&world, &shop);
      EXPECT_EQ(inventory.GetCart(cart)->status, status);
    }
    ExpectStock(&world, shop);
    ExpectSettled(&world, &shop);
  }
}

TEST_P(InventoryTest, WhatIsTooLargeChangesNothing) {
  for (Backend backend : kBackends) {
    World world(GetParam());
    Shop shop;
    OpenShop(&world, &shop);
    ASSERT_TRUE(shop.At(&world).Restock("z", 1).ok());
    const Document details = Doc("text", std::string(17 << 20, 'x'));
    EXPECT_EQ(ErrorName(shop.At(&world, backend).AddItem(shop.cart, {"z", 1, 1, details})),
              "DocumentTooLarge");
    EXPECT_EQ(shop.At(&world).GetStock("z")->available, 1);
    EXPECT_EQ(shop.At(&world).GetCart(shop.cart)->items.size(), 2u);
  }
}

// The bank does not say whether a payment was cancelled: it stays open until it does.
TEST_P(InventoryTest, AnUnknownCancellationIsAskedForAgain) {
  OpenShop(&world_, &shop_);
  Inventory inventory = shop_.At(&world_);
  shop_.gateway.answer = PaymentGateway::Charged::kDeclined;
  shop_.gateway.reachable = false;
  EXPECT_EQ(ErrorName(inventory.Checkout(shop_.cart)), "PaymentPending");
  world_.clock.Advance(minutes(6));
  EXPECT_EQ(inventory.Recover()->errors, 1);
  EXPECT_EQ(inventory.GetCart(shop_.cart)->status, "pending");
  shop_.gateway.reachable = true;
  EXPECT_EQ(inventory.Recover()->changed, 1);
  EXPECT_EQ(inventory.GetCart(shop_.cart)->status, "active");
  ExpectStock(&world_, shop_);
  ExpectSettled(&world_, &shop_);
}

// All of them may be the first.
TEST_P(InventoryTest, ManyDeliveriesOfANewArticle) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 10; ++i) {
        const std::string key = std::to_string(t) + "-" + std::to_string(i);
        EXPECT_TRUE(shop_.At(&world_).Restock("n" + std::to_string(i), 2, key).ok());
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(shop_.At(&world_).GetStock("n" + std::to_string(i))->available, 8);
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
        ExpectStock(&world, shop);
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
