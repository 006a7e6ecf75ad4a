// SPDX-License-Identifier: Apache-2.0
//
// What the tests of the inventory share: a shop with its bank, and its invariants.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "patterns/testing/places.h"
#include "quire/patterns/inventory.h"

namespace quire::patterns {

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
    if (!reachable) {
      return Cancelled::kUnknown;
    }
    if (charged.contains(key)) {
      return Cancelled::kAlreadyCharged;
    }
    cancelled.insert(key);
    return Cancelled::kCancelled;
  }

  std::mutex mutex;
  Charged answer = Charged::kCharged;
  bool reachable = true;  // for cancellations
  std::map<std::string, int64_t> charged;
  std::set<std::string> cancelled;
};

// A world with its gateway and what it has received.
struct Shop {
  // What it knows beside its documents.
  struct Books {
    std::map<std::string, int64_t> charged;
    std::set<std::string> cancelled;
    std::map<std::string, int64_t> received;
  };
  Books Keep() const { return {gateway.charged, gateway.cancelled, received}; }
  void Return(const Books& books) {
    gateway.charged = books.charged;
    gateway.cancelled = books.cancelled;
    received = books.received;
    open.clear();
  }

  TestGateway gateway;
  std::map<std::string, int64_t> received;
  // Deliveries and write-offs of which it is not known whether they were booked.
  std::map<std::string, std::vector<int64_t>> open;
  std::string cart;

  Inventory At(World* world, Backend backend, const Seams& seams, int64_t batch = 1000) {
    return Inventory(world->client, world->database,
                     {.backend = backend, .gateway = &gateway, .batch = batch, .seams = seams});
  }
  Inventory At(World* world, Backend backend = Backend::kCompensating) {
    return At(world, backend, world->seams());
  }
};

// What the stock of an article may sum up to.
inline std::set<int64_t> PossibleSums(const Shop& shop, const std::string& sku) {
  auto received = shop.received.find(sku);
  std::set<int64_t> sums = {received == shop.received.end() ? 0 : received->second};
  if (auto open = shop.open.find(sku); open != shop.open.end()) {
    for (int64_t quantity : open->second) {
      const std::set<int64_t> without = sums;
      for (int64_t sum : without) {
        sums.insert(sum + quantity);
      }
    }
  }
  return sums;
}

// I1, I2, I5, and I4 by the gateway's own books.
inline void ExpectStock(World* world, const Shop& shop) {
  for (const bson::Document& product : world->All("product")) {
    int64_t sum = IntegerAt(product, "qty") + IntegerAt(product, "sold");
    EXPECT_GE(IntegerAt(product, "qty"), 0);
    std::set<std::string> carts;
    for (const bson::Element& entry : product["carted"].AsArray()) {
      sum += IntegerAt(entry.value().AsDocument(), "qty");
      EXPECT_TRUE(carts.insert(std::string(TextAt(entry.value().AsDocument(), "cart_id"))).second);
    }
    EXPECT_TRUE(PossibleSums(shop, std::string(TextAt(product, "_id"))).contains(sum))
        << bson::ToJson(product.view());
  }
}

// I3: what was sold is what complete carts hold, and was paid for; active carts have their stock.
inline void ExpectSettled(World* world, Shop* shop) {
  std::map<std::string, int64_t> sold;
  std::map<std::string, int64_t> paid;
  std::map<std::pair<std::string, std::string>, int64_t> lines;
  for (const bson::Document& cart : world->All("cart")) {
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
  for (const bson::Document& product : world->All("product")) {
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

inline void RunJobs(World* world, Shop* shop) {
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
    world->clock.Advance(std::chrono::minutes(6));  // what was just touched is looked at again
  }
  FAIL() << "the jobs never end";
}

// 10 of x and of y; the cart has 2 of x and 3 of y.
inline void OpenShop(World* world, Shop* shop) {
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

}  // namespace quire::patterns
