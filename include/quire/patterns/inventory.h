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
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quire/patterns/idempotency.h"
#include "quire/patterns/lease.h"
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
  Status CreateIndexes() const { return store_.CreateIndexes(Indexes()); }
  Result<std::vector<std::string>> MissingIndexes() const {
    return store_.MissingIndexes(Indexes());
  }

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
  Result<JobReport> PurgeKeys() const {
    return calls_.Purge({options_.tombstone_retention, options_.worker, options_.lease});
  }

  // What is wrong, a line each, once nothing is under way and the jobs have run: stock below 0,
  // several reservations of one cart, reservations without a cart that can use them, carts paid for
  // whose articles are not booked as sold or not there, and articles sold to no cart.
  Result<std::vector<std::string>> CheckInvariants() const;

 private:
  struct Line;
  struct Entry;
  Lease JobLease(const char* job) const;
  // Whether there may be more to do.
  Result<bool> EndCarts(OldestFirst* carts, JobReport* report,
                        const std::function<Status(const bson::Document&)>& end) const;
  // Runs the steps in a transaction, or as they are and `undo` after an answer that refuses.
  Status Steps(const std::function<Status(const Store&)>& steps,
               const std::function<Status()>& undo) const;
  Status Add(std::string_view cart, const CartItem& item, const Claim& claim) const;
  Status Grow(std::string_view operation, const Line& line, const Claim& claim,
              const std::function<Status(const Store&)>& write) const;
  Result<bool> Reserve(const Store& store, const Line& line, const std::optional<Entry>& held,
                       const bson::Document& entry) const;
  Status Increase(const Line& line, int64_t old_quantity, const Claim& claim) const;
  Status Decrease(const Line& line, int64_t old_quantity, const Claim& claim) const;
  Status WriteLine(const Store& store, const Line& line, int64_t old_quantity,
                   const Claim& claim) const;
  Status Change(const Line& line, int64_t old_quantity, const Claim& claim) const;
  Result<bool> Done(std::string_view cart, const Claim& claim) const;
  Status CartRefusal(const Store& store, std::string_view cart) const;

  Status BeginPayment(const Store& store, std::string_view cart, const std::string& pay_key) const;
  Status Pin(const Store& store, const bson::Document& cart) const;
  Status PinLine(const Store& store, const Line& line, const std::string& pay_key) const;
  Status Pay(const bson::Document& cart) const;
  Status Complete(const bson::Document& cart) const;
  Status Settle(const Store& store, const bson::Document& cart) const;
  Status GiveUp(const bson::Document& cart, const Status& why) const;

  Status ExpireCart(const bson::Document& cart) const;
  Status CleanUpProduct(const bson::Document& product, bson::Date before, JobReport* report) const;
  // How many reservations are another now.
  Result<int64_t> Reconcile(const bson::Document& product, const Entry& entry) const;
  Result<int64_t> ReconcilePinned(std::string_view sku, const Entry& entry,
                                  const std::optional<bson::Document>& cart) const;
  Result<bool> Resize(std::string_view sku, const Entry& entry, int64_t quantity) const;
  Result<bool> Unpin(const Store& store, std::string_view sku, std::string_view cart,
                     std::string_view pay_key) const;
  bson::Document EntryDocument(std::string_view cart, int64_t quantity, const bson::Value& pin,
                               const bson::ObjectId& call) const;

  InventoryOptions options_;
  Store store_;
  Idempotency calls_;
};

}  // namespace quire::patterns
