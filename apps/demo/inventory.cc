// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/inventory.h"

#include <atomic>
#include <functional>

#include "base/try.h"
#include "demo/demos.h"
#include "quire/doc.h"

namespace quire::apps {
namespace {

using patterns::Inventory;

constexpr int64_t kStock = 100;  // of an article, at the start

std::string SkuOf(int64_t i) { return Numbered("sku", i); }

// Declines one payment of ten.
class DemoBank : public patterns::PaymentGateway {
 public:
  Charged Charge(const std::string& key, int64_t) override {
    return std::hash<std::string>()(key) % 10 == 0 ? Charged::kDeclined : Charged::kCharged;
  }
  Cancelled Cancel(const std::string&) override { return Cancelled::kCancelled; }
};

// A customer fills a cart with up to three articles, and pays or leaves it there.
Status Shop(const DesignRun& run, const Inventory& shop, bool pay, Chance* chance) {
  ASSIGN_OR_RETURN(std::string cart, shop.NewCart());
  for (int64_t i = chance->Below(3); i >= 0; --i) {
    RETURN_IF_ERROR(shop.AddItem(cart, {.sku = SkuOf(chance->Skewed(run.size())),
                                        .quantity = 1 + chance->Below(2),
                                        .price = 1100}));
  }
  return pay ? shop.Checkout(cart) : Status::Ok();
}

// `received` counts what came in and was not written off.
std::vector<Step> Steps(const DesignRun& run, const Inventory& shop,
                        std::atomic<int64_t>* received) {
  return {
      {"shop and pay", 40, [&](Worker& w) { return Shop(run, shop, true, &w.chance); }},
      {"shop and leave", 20, [&](Worker& w) { return Shop(run, shop, false, &w.chance); }},
      {"look at stock", 35,
       [&](Worker& w) { return shop.GetStock(SkuOf(w.chance.Skewed(run.size()))).status(); }},
      {"restock and write off", 5,
       [&run, &shop, received](Worker& w) {
         const std::string sku = SkuOf(w.chance.Skewed(run.size()));
         RETURN_IF_ERROR(shop.Restock(sku, 5));
         *received += 5;
         RETURN_IF_ERROR(shop.WriteOff(sku, 5));
         *received -= 5;
         return Status::Ok();
       }},
  };
}

Status RunShop(DesignRun* run, patterns::Backend backend) {
  DemoBank bank;
  Inventory shop(run->client(), run->database(), {.backend = backend, .gateway = &bank});
  RETURN_IF_ERROR(shop.CreateIndexes());
  RETURN_IF_ERROR(run->Load("articles", run->size(),
                            [&](int64_t i) { return shop.Restock(SkuOf(i), kStock); }));
  std::atomic<int64_t> received{kStock * run->size()};
  RETURN_IF_ERROR(run->Work(Steps(*run, shop, &received)));
  RETURN_IF_ERROR(shop.Recover().status());
  RETURN_IF_ERROR(shop.Cleanup().status());
  RETURN_IF_ERROR(run->Explain("articles of a cart", "product", Doc("carted.cart_id", "none")));
  int64_t all = 0;
  std::vector<std::string> negative;
  for (int64_t i = 0; i < run->size(); ++i) {
    ASSIGN_OR_RETURN(patterns::Stock stock, shop.GetStock(SkuOf(i)));
    all += stock.available + stock.carted + stock.sold;
    if (stock.available < 0 || stock.carted < 0 || stock.sold < 0) {
      negative.push_back(SkuOf(i));
    }
  }
  run->Check("available + carted + sold is what was received", all == received,
             std::to_string(all) + " instead of " + std::to_string(received));
  run->Check("no stock is negative", negative);
  return run->CheckInvariants(shop);
}

}  // namespace

Status DemoInventory(DemoRun* run) {
  RETURN_IF_ERROR(run->Design("compensating", [](DesignRun* design) {
    return RunShop(design, patterns::Backend::kCompensating);
  }));
  return run->Design("transactional", [](DesignRun* design) {
    return RunShop(design, patterns::Backend::kTransactional);
  });
}

}  // namespace quire::apps
