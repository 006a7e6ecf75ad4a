// SPDX-License-Identifier: Apache-2.0
//
// What the parts of the inventory share: lines of carts, and their reservations on products.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "patterns/doc.h"
#include "quire/patterns/inventory.h"
#include "quire/patterns/lease.h"

namespace quire::patterns {

inline constexpr char kProduct[] = "product";
inline constexpr char kCart[] = "cart";

// All of an Inventory: its calls, and the steps they are made of.
class Inventory::Work {
 public:
  struct Line;
  struct Entry;

  Work(const Client& client, std::string_view database, InventoryOptions options);

  const Store& store() const { return store_; }
  Status Restock(std::string_view sku, int64_t quantity, const CallKey& key) const;
  Status WriteOff(std::string_view sku, int64_t quantity, const CallKey& key) const;
  Result<Stock> GetStock(std::string_view sku) const;
  Result<std::string> NewCart(const CallKey& key) const;
  Result<Cart> GetCart(std::string_view cart) const;
  Status AddItem(std::string_view cart, const CartItem& item, const CallKey& key) const;
  Status SetQuantity(std::string_view cart, std::string_view sku, int64_t old_quantity,
                     int64_t quantity, const CallKey& key) const;
  Status Checkout(std::string_view cart, const CallKey& key) const;
  Result<JobReport> Expire() const;
  Result<JobReport> Recover() const;
  Result<JobReport> Cleanup() const;
  Result<JobReport> PurgeKeys() const {
    return calls_.Purge({options_.tombstone_retention, options_.worker, options_.lease});
  }
  Result<std::vector<std::string>> CheckInvariants() const;

 private:
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

  const InventoryOptions options_;
  const Store store_;
  const Idempotency calls_;
};

struct Inventory::Work::Line {
  std::string_view cart;
  std::string_view sku;
  int64_t quantity;
};

// A reservation as it was read: any change of it gives it another `call`.
struct Inventory::Work::Entry {
  std::string cart;
  int64_t quantity = 0;
  bson::Date at;
  std::string pin;  // empty: not pinned
  bson::Document exact;

  static Entry Of(bson::View entry) {
    return {std::string(TextAt(entry, "cart_id")), IntegerAt(entry, "qty"), entry["ts"].AsDate(),
            std::string(TextAt(entry, "pin")), bson::Document(entry)};
  }
  static std::vector<Entry> All(const bson::Document& product) {
    std::vector<Entry> entries;
    for (const bson::Element& entry : product["carted"].AsArray()) {
      entries.push_back(Of(entry.value().AsDocument()));
    }
    return entries;
  }
  static std::optional<Entry> OfCart(const bson::Document& product, std::string_view cart) {
    for (Entry& entry : All(product)) {
      if (entry.cart == cart) {
        return std::move(entry);
      }
    }
    return std::nullopt;
  }
  // In a filter: the product still has exactly this entry.
  bson::Document Unchanged() const { return Doc("$elemMatch", exact); }
};

// How many of the article the cart has; 0 without a line.
inline int64_t LineQuantity(const bson::Document& cart, std::string_view sku) {
  for (const bson::Element& item : cart["items"].AsArray()) {
    if (TextAt(item.value().AsDocument(), "sku") == sku) {
      return IntegerAt(item.value().AsDocument(), "qty");
    }
  }
  return 0;
}

}  // namespace quire::patterns
