// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/orders.h"

#include <set>

#include "base/try.h"
#include "patterns/doc.h"
#include "patterns/walk.h"

namespace quire::patterns {

namespace {

using bson::Document;

constexpr char kOrders[] = "orders";
constexpr int kAttempts = 5;

std::vector<OrderItem> ItemsOf(const bson::Document& order) {
  std::vector<OrderItem> items;
  bson::Value array = order["items"];
  if (!array.is_array()) {
    return items;
  }
  for (const bson::Element& element : array.AsArray()) {
    bson::View item = element.value().AsDocument();
    items.push_back(
        {std::string(TextAt(item, "sku")), IntegerAt(item, "qty"), IntegerAt(item, "price")});
  }
  return items;
}

}  // namespace

Orders::Orders(const Client& client, std::string_view database, const Seams& seams,
               const Concerns& concerns)
    : store_(client, database, seams, concerns), calls_(store_, "orders") {}

const std::vector<IndexSpec>& Orders::Indexes() {
  static const std::vector<IndexSpec> kIndexes = {Idempotency::Index()};
  return kIndexes;
}

const std::vector<ShardKeySpec>& Orders::ShardKeys() {
  static const std::vector<ShardKeySpec> kKeys = {{kOrders, R"({"_id": "hashed"})"},
                                                  Idempotency::ShardKey()};
  return kKeys;
}

Status Orders::Create(std::string_view order, const CallKey& key) const {
  const Document empty = Doc("_id", order, "total", int64_t{0}, "items", List());
  return calls_.DoOnce("orders.create", key, Doc("order", order),
                       [&](const Claim& claim) -> Status {
                         RETURN_IF_ERROR(InsertOnce(store_, kOrders, empty, claim));
                         return store_.seams().After("orders.create.c1");
                       });
}

Status Orders::Add(std::string_view order, std::string_view sku, int64_t price, int64_t quantity,
                   const CallKey& key) const {
  int64_t sum = 0;
  if (quantity < 1 || price < 0 || __builtin_mul_overflow(price, quantity, &sum)) {
    return MakeError(Error::kInvalidAmount, sku);
  }
  const OrderItem item{std::string(sku), quantity, price};
  return calls_.DoOnce("orders.add", key,
                       Doc("order", order, "sku", sku, "price", price, "qty", quantity),
                       [&](const Claim& claim) { return AddOnce(order, item, claim); });
}

Status Orders::AddOnce(std::string_view order, const OrderItem& item, const Claim& claim) const {
  const int64_t sum = item.price * item.quantity;
  const Document line = Doc("sku", item.sku, "qty", item.quantity, "price", item.price);
  const Document has_it =
      Doc("_id", order, "items", Doc("$elemMatch", Doc("sku", item.sku, "price", item.price)));
  const Document without = Doc("_id", order, "items.sku", Doc("$ne", item.sku));
  const Document more = Doc("$inc", Doc("total", sum, "items.$.qty", item.quantity));
  const Document first = Doc("$inc", Doc("total", sum), "$push", Doc("items", line));
  for (int i = 0; i < kAttempts; ++i) {
    ASSIGN_OR_RETURN(int64_t matched,
                     store_.UpdateOne(kOrders, Unmarked(has_it, claim), Marking(more, claim)));
    if (matched == 0) {
      ASSIGN_OR_RETURN(matched,
                       store_.UpdateOne(kOrders, Unmarked(without, claim), Marking(first, claim)));
    }
    if (matched == 1) {
      return store_.seams().After("orders.add.c1");
    }
    ASSIGN_OR_RETURN(auto found, store_.FindOne(kOrders, Doc("_id", order)));
    if (!found) {
      return MakeError(Error::kOrderNotFound, order);
    }
    if (Marked(*found, claim)) {
      return Status::Ok();
    }
    for (const OrderItem& other : ItemsOf(*found)) {
      if (other.sku == item.sku && other.price != item.price) {
        return MakeError(Error::kPriceChanged, item.sku);
      }
    }
  }
  return MakeError(Error::kContention, order);
}

Result<Order> Orders::Get(std::string_view order) const {
  ASSIGN_OR_RETURN(auto found, store_.FindOne(kOrders, Doc("_id", order)));
  if (!found) {
    return MakeError(Error::kOrderNotFound, order);
  }
  return Order{IntegerAt(*found, "total"), ItemsOf(*found)};
}

Result<std::vector<std::string>> Orders::CheckInvariants() const {
  std::vector<std::string> wrong;
  auto check = [&](const Document& order) {
    const std::string id(TextAt(order, "_id"));
    int64_t sum = 0;
    std::set<std::string> skus;
    for (const OrderItem& item : ItemsOf(order)) {
      sum += item.quantity * item.price;
      if (!skus.insert(item.sku).second) {
        wrong.push_back("an article twice: " + id);
      }
    }
    if (sum != IntegerAt(order, "total")) {
      wrong.push_back("the total of " + id);
    }
    return Status::Ok();
  };
  RETURN_IF_ERROR(Walk(store_, kOrders, check));
  return wrong;
}

}  // namespace quire::patterns
