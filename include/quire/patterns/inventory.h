// SPDX-License-Identifier: Apache-2.0
//
// Stock and shopping carts: nothing is sold twice, and carts that time out give their stock back.
//
//   patterns::Inventory shop(client, "shop", {.gateway = &bank});
//   shop.CreateIndexes();
//   shop.Restock("00e8da9b", 16);
//   auto cart = shop.NewCart();
//   shop.AddItem(*cart, {.sku = "00e8da9b", .quantity = 2, .price = 1100});
//   shop.Checkout(*cart);
//   shop.Expire(); shop.Recover(); shop.Cleanup();   // every minute, by anyone
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quire/patterns/idempotency.h"
#include "quire/patterns/store.h"

namespace quire::patterns {

class OldestFirst;  // of src/patterns/walk.h

// Who takes the money. A key stands for one payment: charging it again changes nothing, and once
// it was cancelled charging it is declined. Safe for concurrent use.
class PaymentGateway {
 public:
  enum class Charged { kCharged, kDeclined, kUnknown };
  enum class Cancelled { kCancelled, kAlreadyCharged, kUnknown };
  virtual ~PaymentGateway() = default;
  virtual Charged Charge(const std::string& key, int64_t amount) = 0;
  virtual Cancelled Cancel(const std::string& key) = 0;
};

struct InventoryOptions {
  Backend backend = Backend::kCompensating;
  PaymentGateway* gateway = nullptr;  // borrowed; needed by Checkout, Recover and Cleanup
  std::chrono::milliseconds cart_timeout = std::chrono::minutes(30);  // unchanged for so long
  // A payment or a reservation that has not ended by then is finished, or given back, by the jobs.
  std::chrono::milliseconds max_time = std::chrono::minutes(5);
  std::chrono::milliseconds tombstone_retention = std::chrono::hours(24);  // of keys
  std::string worker = "worker";  // a name of its own for every process that runs the jobs
  std::chrono::milliseconds lease = std::chrono::minutes(5);
  // So many carts or products are read by a job at a time. REQUIRES: > 0
  int64_t batch = 1000;
  // Stock and payments: no failover takes back what was acknowledged.
  Concerns concerns = KeptByMajority();
  Seams seams = {};
};

struct CartItem {
  std::string sku{};
  int64_t quantity = 1;
  int64_t price = 0;  // of one, minor units, as it was when added
  bson::Document details{};
};

struct Cart {
  std::string id;
  std::string status;  // active, pending, complete, expiring, expired
  std::vector<CartItem> items;
  bool settled = false;  // complete, and its stock is booked as sold
};

struct Stock {
  int64_t available = 0;
  int64_t carted = 0;
  int64_t sold = 0;
};

// Documents: product {_id: sku, qty, carted: [{cart_id, qty, ts, pin, call}], sold, marks}; cart
// {_id, status, last_modified, pay_key, items: [{sku, qty, price, details}], settled, marks};
// idempotency; jobs. At every instant qty + the carted + sold is what was received. Where cart and
// product disagree, the product is right. Safe for concurrent use.
class Inventory {
 public:
  Inventory(const Client& client, std::string_view database, InventoryOptions options = {});

  static const std::vector<IndexSpec>& Indexes();
  static const std::vector<ShardKeySpec>& ShardKeys();
  Status CreateIndexes() const;
  Result<std::vector<std::string>> MissingIndexes() const;

  // Errors: InvalidQuantity (not positive), UnknownSku, InadequateInventory.
  Status Restock(std::string_view sku, int64_t quantity, const CallKey& key = std::nullopt) const;
  Status WriteOff(std::string_view sku, int64_t quantity, const CallKey& key = std::nullopt) const;
  // Error: UnknownSku.
  Result<Stock> GetStock(std::string_view sku) const;

  Result<std::string> NewCart(const CallKey& key = std::nullopt) const;
  // Error: NotFound.
  Result<Cart> GetCart(std::string_view cart) const;

  // Adds to what the cart has of the article. Errors: InvalidQuantity, InvalidPrice, UnknownSku,
  // InadequateInventory, CartInactive, Conflict, Contention (another call works on the same line).
  Status AddItem(std::string_view cart, const CartItem& item,
                 const CallKey& key = std::nullopt) const;
  // From `old_quantity`, which the caller has seen, to `quantity`; 0 removes the line. Errors as
  // AddItem.
  Status SetQuantity(std::string_view cart, std::string_view sku, int64_t old_quantity,
                     int64_t quantity, const CallKey& key = std::nullopt) const;

  // Pays for all of it. Errors: CartInactive, EmptyCart, LineUnavailable, PaymentFailed,
  // InvalidPrice (the sum is more than a number holds): the cart is as it was; PaymentPending: not
  // known yet, Recover will find out.
  Status Checkout(std::string_view cart, const CallKey& key = std::nullopt) const;

  // The jobs. skipped is 1, and nothing was done, while another worker is at it.
  // Carts unchanged for cart_timeout give their stock back.
  Result<JobReport> Expire() const;
  // Payments that have not ended after max_time are cancelled or, if charged, completed.
  Result<JobReport> Recover() const;
  // Reservations older than max_time are made to agree with their carts.
  Result<JobReport> Cleanup() const;
  // Forgets keys after the retention.
  Result<JobReport> PurgeKeys() const;

  // What is wrong, a line each, once nothing is under way and the jobs have run: stock below 0,
  // several reservations of one cart, reservations without a cart that can use them, carts paid for
  // whose articles are not booked as sold or not there, and articles sold to no cart.
  Result<std::vector<std::string>> CheckInvariants() const;

 private:
  class Work;
  std::shared_ptr<const Work> work_;
};

}  // namespace quire::patterns
