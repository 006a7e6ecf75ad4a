// SPDX-License-Identifier: Apache-2.0
//
// What the jobs of the inventory do with carts and reservations as crashes may leave them.
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "patterns/testing/shop.h"

namespace quire::patterns {
namespace {

using bson::Document;
using bson::Value;
using std::chrono::minutes;

class InventoryJobsTest : public BothPlaces {
 protected:
  Inventory Jobs(int64_t batch = 1000) {
    return shop_.At(&world_, Backend::kCompensating, world_.seams(), batch);
  }

  // A product of ten and a reservation of it for the cart of the same name.
  void Reserve(const std::string& name, int64_t quantity, const Value& pin = Value::Null()) {
    const Document entry = Doc("cart_id", name, "qty", quantity, "ts", world_.clock.Now(), "pin",
                               pin, "call", bson::ObjectId::Generate());
    ASSERT_TRUE(world_.store
                    .Insert("product", Doc("_id", name, "qty", int64_t{10}, "carted", List(entry),
                                           "sold", int64_t{0}))
                    .ok());
  }
  void AddCart(const std::string& name, const std::string& status, int64_t line,
               const Value& pay_key = Value::Null()) {
    const Document item = Doc("sku", name, "qty", line, "price", int64_t{1}, "details", Document());
    ASSERT_TRUE(world_.store
                    .Insert("cart", Doc("_id", name, "status", status, "last_modified",
                                        world_.clock.Now(), "pay_key", pay_key, "items",
                                        line > 0 ? List(item) : List(), "settled", false))
                    .ok());
  }

  Shop shop_;
};

// One of each kind, and one call: a reservation is made what its cart needs, what is being paid is
// left alone, and only what is pinned is ever sold.
TEST_P(InventoryJobsTest, CleanupGoesByTheCart) {
  const struct {
    const char* name;
    const char* status;  // of the cart; none: there is no cart
    int64_t line;
    bool pinned;
    bool same_key;  // the cart waits for, or was paid by, the key of the pin
    Stock expected;
  } kCases[] = {
      {"no cart", nullptr, 0, false, false, {13, 0, 0}},
      {"expiring", "expiring", 3, false, false, {13, 0, 0}},
      {"expired", "expired", 3, false, false, {13, 0, 0}},
      {"reserved after it was paid", "complete", 0, false, false, {13, 0, 0}},
      {"no line", "active", 0, false, false, {13, 0, 0}},
      {"less in the cart", "active", 1, false, false, {12, 1, 0}},
      {"as in the cart", "active", 3, false, false, {10, 3, 0}},
      {"more in the cart", "active", 5, false, false, {8, 5, 0}},
      {"more than there is", "active", 50, false, false, {10, 3, 0}},
      {"about to be pinned", "pending", 3, false, false, {10, 3, 0}},
      {"pinned and paid", "complete", 3, true, true, {10, 0, 3}},
      {"pinned and being paid", "pending", 3, true, true, {10, 3, 0}},
      {"pinned for another payment", "pending", 3, true, false, {10, 3, 0}},
      {"pinned and given up", "active", 3, true, false, {10, 3, 0}},
      {"pinned and no cart", nullptr, 0, true, false, {10, 3, 0}},
  };
  ASSERT_TRUE(Jobs().CreateIndexes().ok());
  for (const auto& row : kCases) {
    const std::string key = std::string("key of ") + row.name;
    Reserve(row.name, 3, row.pinned ? Value(std::string_view(key)) : Value::Null());
    if (row.status != nullptr) {
      AddCart(row.name, row.status, row.line,
              row.same_key ? Value(std::string_view(key)) : Value::Null());
    }
  }
  world_.clock.Advance(minutes(6));
  auto report = Jobs().Cleanup();
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_EQ(report->examined, static_cast<int64_t>(std::size(kCases)));
  EXPECT_EQ(report->changed, 11);
  for (const auto& row : kCases) {
    SCOPED_TRACE(row.name);
    const Stock stock = *Jobs().GetStock(row.name);
    EXPECT_EQ(stock.available, row.expected.available);
    EXPECT_EQ(stock.carted, row.expected.carted);
    EXPECT_EQ(stock.sold, row.expected.sold);
    const Document product = **world_.store.FindOne("product", Doc("_id", row.name));
    const std::string key = std::string("key of ") + row.name;
    const bool cancelled = row.pinned && !row.same_key;
    EXPECT_EQ(shop_.gateway.cancelled.contains(key), cancelled);
    if (stock.carted > 0) {
      const Document entry(product["carted"].AsArray()["0"].AsDocument());
      EXPECT_EQ(TextAt(entry, "pin"), row.pinned && !cancelled ? key : "");
    }
  }
  EXPECT_TRUE(Jobs().GetCart("pinned and paid")->settled);
  EXPECT_EQ(Jobs().Cleanup()->changed, 0);  // what agrees is looked at again in a while
  world_.clock.Advance(minutes(6));
  EXPECT_EQ(Jobs().Cleanup()->changed, 1);
  EXPECT_EQ(Jobs().GetStock("pinned and no cart")->available, 13);
}

// The key of the pin was charged: nobody may have its stock.
TEST_P(InventoryJobsTest, CleanupLeavesWhatWasPaid) {
  ASSERT_TRUE(Jobs().CreateIndexes().ok());
  Reserve("x", 3, Value(std::string_view("paid")));
  AddCart("x", "active", 3);
  shop_.gateway.charged["paid"] = 3;
  world_.clock.Advance(minutes(6));
  EXPECT_EQ(Jobs().Cleanup()->changed, 0);
  EXPECT_EQ(*world_.store.Count("product", Doc("carted.pin", "paid")), 1);
}

// What the products hold is given back, whatever the cart says, but not what is being paid.
TEST_P(InventoryJobsTest, ExpiryGivesBackWhatTheProductsHold) {
  ASSERT_TRUE(Jobs().CreateIndexes().ok());
  Reserve("more than its line", 5);
  AddCart("more than its line", "active", 2);
  Reserve("pinned", 5, Value(std::string_view("key")));
  AddCart("pinned", "active", 5);
  const std::string empty = *Jobs().NewCart();
  world_.clock.Advance(minutes(31));
  EXPECT_EQ(Jobs().Expire()->changed, 3);
  EXPECT_EQ(Jobs().GetStock("more than its line")->available, 15);
  EXPECT_EQ(Jobs().GetStock("pinned")->carted, 5);
  for (const std::string& cart :
       {std::string("more than its line"), std::string("pinned"), empty}) {
    EXPECT_EQ(Jobs().GetCart(cart)->status, "expired");
  }
}

// A cart that was changed is not old, and one that waits for its payment does not expire.
TEST_P(InventoryJobsTest, OnlyIdleCartsExpire) {
  OpenShop(&world_, &shop_);
  const std::string paying = *Jobs().NewCart();
  ASSERT_TRUE(Jobs().AddItem(paying, {.sku = "x", .price = 1}).ok());
  shop_.gateway.answer = PaymentGateway::Charged::kUnknown;
  EXPECT_EQ(ErrorName(Jobs().Checkout(paying)), "PaymentPending");
  world_.clock.Advance(minutes(20));
  ASSERT_TRUE(Jobs().SetQuantity(shop_.cart, "x", 2, 3).ok());
  world_.clock.Advance(minutes(20));
  EXPECT_EQ(Jobs().Expire()->examined, 0);
  EXPECT_EQ(Jobs().GetCart(shop_.cart)->status, "active");
  EXPECT_EQ(Jobs().GetCart(paying)->status, "pending");
}

// A cleaner has read a reservation that is larger than its line, and writes when it is being paid.
TEST_P(InventoryJobsTest, AStaleCleanupDoesNotTouchWhatIsPinned) {
  OpenShop(&world_, &shop_);
  ASSERT_TRUE(world_.store
                  .UpdateOne("product", Doc("_id", "x"),
                             Doc("$set", Doc("carted.0.qty", int64_t{5}), "$inc", Doc("qty", -3)))
                  .ok());
  world_.clock.Advance(minutes(6));
  TestFaults faults;
  faults.at = 2;  // after the lease
  faults.before = [&] {
    shop_.gateway.answer = PaymentGateway::Charged::kUnknown;
    EXPECT_EQ(ErrorName(Jobs().Checkout(shop_.cart)), "PaymentPending");
  };
  Inventory stale = shop_.At(&world_, Backend::kCompensating, world_.seams(nullptr, &faults));
  EXPECT_EQ(stale.Cleanup()->changed, 0);
  EXPECT_GE(faults.writes, 2);
  EXPECT_EQ(Jobs().GetStock("x")->carted, 2);
  EXPECT_EQ(*world_.store.Count("product", Doc("carted.pin", Doc("$ne", Value::Null()))), 2);
  world_.clock.Advance(minutes(6));
  RunJobs(&world_, &shop_);
  EXPECT_EQ(Jobs().GetStock("x")->sold, 2);
  ExpectStock(&world_, shop_);
  ExpectSettled(&world_, &shop_);
}

// Somebody reserves for a cart that has just been paid, and is not seen again.
TEST_P(InventoryJobsTest, ALateReservationIsNotSold) {
  OpenShop(&world_, &shop_);
  ASSERT_TRUE(Jobs().Restock("z", 4).ok());
  shop_.received["z"] = 4;
  TestFaults faults;
  faults.at = 1;
  faults.before = [&] { EXPECT_TRUE(Jobs().Checkout(shop_.cart).ok()); };
  TestCrash crash;
  crash.at = "inventory.add_item.c1";
  Inventory late = shop_.At(&world_, Backend::kCompensating, world_.seams(&crash, &faults));
  EXPECT_TRUE(Is(late.AddItem(shop_.cart, {.sku = "z", .quantity = 3}), Error::kCrashed));
  EXPECT_EQ(Jobs().GetStock("z")->carted, 3);
  world_.clock.Advance(minutes(6));
  RunJobs(&world_, &shop_);
  EXPECT_EQ(Jobs().GetStock("z")->available, 4);
  EXPECT_EQ(Jobs().GetStock("z")->sold, 0);
  ExpectStock(&world_, shop_);
  ExpectSettled(&world_, &shop_);
}

TEST_P(InventoryJobsTest, OneCallDoesEveryBatch) {
  ASSERT_TRUE(Jobs().CreateIndexes().ok());
  for (int i = 0; i < 5; ++i) {
    const std::string name = std::to_string(i);
    Reserve("clean" + name, 3);
    AddCart("clean" + name, "active", i < 2 ? 50 : 1);  // the first batch is left as it is
    Reserve("pend" + name, 3);
    AddCart("pend" + name, "pending", 3, Value(std::string_view(name)));
    Reserve("settle" + name, 3, Value(std::string_view(name)));
    AddCart("settle" + name, "complete", 3, Value(std::string_view(name)));
  }
  world_.clock.Advance(minutes(6));
  EXPECT_EQ(Jobs(2).Recover()->changed, 10);
  EXPECT_EQ(Jobs(2).Cleanup()->changed, 3);
  world_.clock.Advance(minutes(31));
  EXPECT_EQ(Jobs(2).Expire()->changed, 10);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(Jobs().GetStock("clean" + std::to_string(i))->available, 13);
    EXPECT_EQ(Jobs().GetStock("pend" + std::to_string(i))->available, 13);
    EXPECT_EQ(Jobs().GetStock("settle" + std::to_string(i))->sold, 3);
  }
}

// Of three carts that expire, the stock of one cannot be given back just now.
TEST_P(InventoryJobsTest, OneFailureDoesNotStopTheOthers) {
  ASSERT_TRUE(Jobs().CreateIndexes().ok());
  for (const char* name : {"a", "b", "c"}) {
    Reserve(name, 3);
    AddCart(name, "active", 3);
  }
  world_.clock.Advance(minutes(31));
  TestFaults faults;
  faults.at = 3;  // after the lease, and the carts that expire
  faults.fault = FaultHook::Fault::kFailBefore;
  const Seams failing = world_.seams(nullptr, &faults);
  auto report = shop_.At(&world_, Backend::kCompensating, failing, /*batch=*/1).Expire();
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_EQ(report->errors, 1);
  EXPECT_EQ(report->changed, 2);
  EXPECT_EQ(Jobs().Expire()->changed, 1);
}

QUIRE_IN_BOTH_PLACES(InventoryJobsTest);

}  // namespace
}  // namespace quire::patterns
