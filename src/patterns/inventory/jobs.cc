// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/try.h"
#include "patterns/inventory/parts.h"
#include "patterns/walk.h"

namespace quire::patterns {

namespace {

using bson::Document;

constexpr char kModified[] = "last_modified";

Document Old(std::string_view status, bson::Date before) {
  return Doc("status", status, "settled", false, kModified, Doc("$lt", before));
}

// What a cart was brought to an end with: an answer that refuses is one, too.
Result<int64_t> Ended(const Status& status) {
  return status.ok() || IsFinal(status) ? Result<int64_t>(1) : status;
}

}  // namespace

Result<JobReport> Inventory::Work::Expire() const {
  OldestFirst expiring(store_, kCart, Doc("status", "expiring", "settled", false), kModified);
  return RepeatLeased(JobLease("inventory.expire"), [&](JobReport* report) -> Result<bool> {
    RETURN_IF_ERROR(store_
                        .UpdateMany(kCart, Old("active", store_.Ago(options_.cart_timeout)),
                                    Doc("$set", Doc("status", "expiring")))
                        .status());
    RETURN_IF_ERROR(store_.seams().After("inventory.expire.c1"));
    return EndCarts(&expiring, report, [&](const Document& cart) { return ExpireCart(cart); });
  });
}

Result<JobReport> Inventory::Work::Recover() const {
  const bson::Date before = store_.Ago(options_.max_time);
  OldestFirst pending(store_, kCart, Old("pending", before), kModified);
  OldestFirst complete(store_, kCart, Old("complete", before), kModified);
  const Status expired = MakeError(Error::kPaymentFailed, "it took too long");
  return RepeatLeased(JobLease("inventory.recover"), [&](JobReport* report) -> Result<bool> {
    if (pending.more()) {
      RETURN_IF_ERROR(EndCarts(&pending, report, [&](const Document& cart) {
                        return GiveUp(cart, expired);
                      }).status());
      return true;
    }
    return EndCarts(&complete, report, [&](const Document& cart) { return Settle(store_, cart); });
  });
}

// One cursor for all batches: what stays as it is does not come again.
Result<JobReport> Inventory::Work::Cleanup() const {
  const bson::Date before = store_.Ago(options_.max_time);
  std::optional<Cursor> due;
  return RepeatLeased(JobLease("inventory.cleanup"), [&](JobReport* report) -> Result<bool> {
    if (!due) {
      ASSIGN_OR_RETURN(due, store_.Open(kProduct, Doc("carted.ts", Doc("$lt", before))));
    }
    for (int64_t i = 0; i < options_.batch; ++i) {
      if (!due->Next()) {
        RETURN_IF_ERROR(due->status());
        return false;
      }
      RETURN_IF_ERROR(CleanUpProduct(Document(due->current()), before, report));
    }
    return true;
  });
}

Lease Inventory::Work::JobLease(const char* job) const {
  return Lease(store_, job, options_.worker, options_.lease);
}

// Whether there may be more.
Result<bool> Inventory::Work::EndCarts(OldestFirst* carts, JobReport* report,
                                       const std::function<Status(const Document&)>& end) const {
  ASSIGN_OR_RETURN(auto batch, carts->Next(options_.batch));
  for (const Document& cart : batch) {
    RETURN_IF_ERROR(report->Count(Ended(end(cart))));
  }
  return carts->more();
}

// What the products hold counts, not what the cart says.
Status Inventory::Work::ExpireCart(const Document& cart) const {
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

Status Inventory::Work::CleanUpProduct(const Document& product, bson::Date before,
                                       JobReport* report) const {
  for (const Entry& entry : Entry::All(product)) {
    if (entry.at < before) {
      RETURN_IF_ERROR(report->Count(Reconcile(product, entry)));
      RETURN_IF_ERROR(
          store_.seams().After("inventory.cleanup", static_cast<int>(report->examined)));
    }
  }
  return Status::Ok();
}

// What agrees is dated anew: it is looked at again in a while.
Result<int64_t> Inventory::Work::Reconcile(const Document& product, const Entry& entry) const {
  const std::string_view sku = TextAt(product, "_id");
  ASSIGN_OR_RETURN(auto cart, store_.FindOne(kCart, Doc("_id", entry.cart)));
  if (!entry.pin.empty()) {
    return ReconcilePinned(sku, entry, cart);
  }
  const std::string_view status = cart ? TextAt(*cart, "status") : "";
  if (status == "pending") {
    return 0;
  }
  const int64_t line = status == "active" ? LineQuantity(*cart, sku) : 0;
  ASSIGN_OR_RETURN(bool written, Resize(sku, entry, line));
  return written && line != entry.quantity ? 1 : 0;
}

Result<int64_t> Inventory::Work::ReconcilePinned(std::string_view sku, const Entry& entry,
                                                 const std::optional<Document>& cart) const {
  const bool same = cart && TextAt(*cart, "pay_key") == entry.pin;
  if (same && TextAt(*cart, "status") == "complete") {
    RETURN_IF_ERROR(Settle(store_, *cart));
    return 1;
  }
  if ((same && TextAt(*cart, "status") == "pending") ||
      options_.gateway->Cancel(entry.pin) != PaymentGateway::Cancelled::kCancelled) {
    return 0;
  }
  ASSIGN_OR_RETURN(bool unpinned, Unpin(store_, sku, entry.cart, entry.pin));
  return unpinned ? 1 : 0;
}

// Gives the reservation another size, if it is still as it was read (and there is enough stock to
// grow); 0 removes it. Whether it was written.
Result<bool> Inventory::Work::Resize(std::string_view sku, const Entry& entry,
                                     int64_t quantity) const {
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

Result<std::vector<std::string>> Inventory::Work::CheckInvariants() const {
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
    sold.erase(sku);
    return Status::Ok();
  };
  RETURN_IF_ERROR(Walk(store_, kCart, read_cart));
  RETURN_IF_ERROR(Walk(store_, kProduct, check_product));
  for (const auto& [sku, quantity] : sold) {
    wrong.push_back("sold, and not there: " + sku);
  }
  return wrong;
}

}  // namespace quire::patterns
