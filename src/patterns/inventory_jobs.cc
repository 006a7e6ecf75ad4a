// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <set>
#include <utility>

#include "base/try.h"
#include "patterns/inventory_parts.h"
#include "patterns/walk.h"

namespace quire::patterns {

namespace {

using bson::Document;

constexpr int64_t kBatch = 1000;

Document Old(std::string_view status, bson::Date before) {
  return Doc("status", status, "settled", false, "last_modified", Doc("$lt", before));
}

// Counts one piece of work; only a crash ends the job.
Status Count(const Status& status, bool changed, JobReport* report) {
  report->examined += 1;
  if (Is(status, Error::kCrashed)) {
    return status;
  }
  (!status.ok() && !IsFinal(status) ? report->errors
   : changed                        ? report->changed
                                    : report->skipped) += 1;
  return Status::Ok();
}

}  // namespace

Result<JobReport> Inventory::Expire() const {
  return RunLeased(JobLease("inventory.expire"), [&] { return ExpireBatch(); });
}

Result<JobReport> Inventory::Recover() const {
  return RunLeased(JobLease("inventory.recover"), [&] { return RecoverBatch(); });
}

Result<JobReport> Inventory::Cleanup() const {
  return RunLeased(JobLease("inventory.cleanup"), [&] { return CleanupBatch(); });
}

Lease Inventory::JobLease(const char* job) const {
  return Lease(store_, job, options_.worker, options_.lease);
}

Result<JobReport> Inventory::ExpireBatch() const {
  JobReport report;
  RETURN_IF_ERROR(store_
                      .UpdateMany(kCart, Old("active", store_.Ago(options_.cart_timeout)),
                                  Doc("$set", Doc("status", "expiring")))
                      .status());
  RETURN_IF_ERROR(store_.seams().After("inventory.expire.c1"));
  ASSIGN_OR_RETURN(auto carts, store_.Find(kCart, Doc("status", "expiring", "settled", false),
                                           {.limit = kBatch}));
  for (const Document& cart : carts) {
    RETURN_IF_ERROR(Count(ExpireCart(cart), true, &report));
  }
  return report;
}

// What the products hold counts, not what the cart says.
Status Inventory::ExpireCart(const Document& cart) const {
  ASSIGN_OR_RETURN(auto products, store_.Find(kProduct, Doc("carted.cart_id", cart["_id"])));
  int step = 1;
  for (const Document& product : products) {
    const std::optional<Entry> entry = Entry::OfCart(product, TextAt(cart, "_id"));
    if (entry && entry->pin.empty()) {
      RETURN_IF_ERROR(Resize(TextAt(product, "_id"), *entry, 0).status());
      RETURN_IF_ERROR(store_.seams().After("inventory.expire", ++step));
    }
  }
  RETURN_IF_ERROR(store_
                      .UpdateOne(kCart, Doc("_id", cart["_id"], "status", "expiring"),
                                 Doc("$set", Doc("status", "expired")))
                      .status());
  return store_.seams().After("inventory.expire", ++step);
}

Result<JobReport> Inventory::RecoverBatch() const {
  JobReport report;
  const bson::Date before = store_.Ago(options_.max_time);
  ASSIGN_OR_RETURN(auto pending, store_.Find(kCart, Old("pending", before), {.limit = kBatch}));
  for (const Document& cart : pending) {
    const Status expired = MakeError(Error::kPaymentFailed, "it took too long");
    RETURN_IF_ERROR(Count(GiveUp(cart, expired), true, &report));
  }
  ASSIGN_OR_RETURN(auto complete, store_.Find(kCart, Old("complete", before), {.limit = kBatch}));
  for (const Document& cart : complete) {
    RETURN_IF_ERROR(Count(Settle(store_, cart), true, &report));
  }
  return report;
}

Result<JobReport> Inventory::CleanupBatch() const {
  JobReport report;
  const bson::Date before = store_.Ago(options_.max_time);
  ASSIGN_OR_RETURN(auto products,
                   store_.Find(kProduct, Doc("carted.ts", Doc("$lt", before)), {.limit = kBatch}));
  for (const Document& product : products) {
    for (const Entry& entry : Entry::All(product)) {
      if (entry.at < before) {
        Result<bool> changed = Reconcile(product, entry);
        RETURN_IF_ERROR(Count(changed.status(), changed.ok() && *changed, &report));
        RETURN_IF_ERROR(
            store_.seams().After("inventory.cleanup", static_cast<int>(report.examined)));
      }
    }
  }
  return report;
}

// Whether stock moved. A reservation that agrees with its cart is looked at again later.
Result<bool> Inventory::Reconcile(const Document& product, const Entry& entry) const {
  const std::string_view sku = TextAt(product, "_id");
  ASSIGN_OR_RETURN(auto cart, store_.FindOne(kCart, Doc("_id", entry.cart)));
  if (!entry.pin.empty()) {
    return ReconcilePinned(sku, entry, cart);
  }
  const std::string_view status = cart ? TextAt(*cart, "status") : "";
  if (status == "pending") {
    return false;
  }
  const int64_t line = status == "active" ? LineQuantity(*cart, sku) : 0;
  ASSIGN_OR_RETURN(bool written, Resize(sku, entry, line));
  return written && line != entry.quantity;
}

Result<bool> Inventory::ReconcilePinned(std::string_view sku, const Entry& entry,
                                        const std::optional<Document>& cart) const {
  const bool same = cart && TextAt(*cart, "pay_key") == entry.pin;
  if (same && TextAt(*cart, "status") == "complete") {
    RETURN_IF_ERROR(Settle(store_, *cart));
    return true;
  }
  if (same && TextAt(*cart, "status") == "pending") {
    return false;
  }
  return options_.gateway->Cancel(entry.pin) == PaymentGateway::Cancelled::kCancelled
             ? Unpin(store_, sku, entry.cart, entry.pin)
             : Result<bool>(false);
}

// Gives the reservation another size, if it is still as it was read (and there is enough stock to
// grow); 0 removes it. Whether it was written.
Result<bool> Inventory::Resize(std::string_view sku, const Entry& entry, int64_t quantity) const {
  const int64_t back = entry.quantity - quantity;
  bson::Builder filter;
  filter.Append("_id", sku).Append("carted", entry.Unchanged());
  if (back < 0) {
    filter.Append("qty", Doc("$gte", -back));
  }
  const Document resized =
      EntryDocument(entry.cart, quantity, bson::Value::Null(), store_.seams().ids->Next());
  const Document update =
      MergeUpdates(Doc("$inc", Doc("qty", back)),
                   quantity == 0 ? Doc("$pull", Doc("carted", Doc("cart_id", entry.cart)))
                                 : Doc("$set", Doc("carted.$", resized)));
  ASSIGN_OR_RETURN(int64_t written, store_.UpdateOne(kProduct, filter.Finish(), update));
  return written == 1;
}

Result<std::vector<std::string>> Inventory::CheckInvariants() const {
  std::vector<std::string> wrong;
  std::map<std::string, std::string> carts;  // their status
  std::map<std::string, int64_t> sold;       // by article
  auto read_cart = [&](const Document& cart) {
    const std::string id(TextAt(cart, "_id"));
    carts[id] = TextAt(cart, "status");
    if (carts[id] != "complete") {
      return Status::Ok();
    }
    if (!cart["settled"].AsBool()) {
      wrong.push_back("paid for, and not booked as sold: cart " + id);
    }
    for (const bson::Element& item : cart["items"].AsArray()) {
      const bson::View line = item.value().AsDocument();
      sold[std::string(TextAt(line, "sku"))] += IntegerAt(line, "qty");
    }
    return Status::Ok();
  };
  auto check_product = [&](const Document& product) {
    const std::string sku(TextAt(product, "_id"));
    if (IntegerAt(product, "qty") < 0) {
      wrong.push_back("below 0: " + sku);
    }
    std::set<std::string> reserved;
    for (const Entry& entry : Entry::All(product)) {
      if (!reserved.insert(entry.cart).second) {
        wrong.push_back("reserved twice for a cart: " + sku);
      }
      const auto cart = carts.find(entry.cart);
      if (cart == carts.end() || (cart->second != "active" && cart->second != "pending")) {
        wrong.push_back("reserved for no cart that can use it: " + sku);
      }
    }
    if (IntegerAt(product, "sold") != sold[sku]) {
      wrong.push_back("not what the carts say is sold: " + sku);
    }
    return Status::Ok();
  };
  RETURN_IF_ERROR(Walk(store_, kCart, read_cart));
  RETURN_IF_ERROR(Walk(store_, kProduct, check_product));
  return wrong;
}

}  // namespace quire::patterns
