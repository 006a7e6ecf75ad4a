// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/orders.h"

#include "base/try.h"
#include "patterns/doc.h"

namespace quire::patterns {

namespace {

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

Orders::Orders(const Client& client, std::string_view database, const Seams& seams)
    : store_(client, database, seams) {}

const std::vector<ShardKeySpec>& Orders::ShardKeys() {
  static const std::vector<ShardKeySpec> kKeys = {{kOrders, R"({"_id": "hashed"})"}};
  return kKeys;
}

Status Orders::Create(std::string_view order) const {
  return store_.Insert(kOrders, Doc("_id", order, "total", int64_t{0}, "items", List()));
}

Status Orders::Add(std::string_view order, std::string_view sku, int64_t price,
                   int64_t quantity) const {
  int64_t sum = 0;
  if (quantity < 1 || price < 0 || __builtin_mul_overflow(price, quantity, &sum)) {
    return MakeError(Error::kInvalidAmount, sku);
  }
  const bson::Document more = Doc("$inc", Doc("total", sum, "items.$.qty", quantity));
  const bson::Document first = Doc("$inc", Doc("total", sum), "$push",
                                   Doc("items", Doc("sku", sku, "qty", quantity, "price", price)));
  for (int i = 0; i < kAttempts; ++i) {
    ASSIGN_OR_RETURN(
        int64_t matched,
        store_.UpdateOne(
            kOrders, Doc("_id", order, "items", Doc("$elemMatch", Doc("sku", sku, "price", price))),
            more));
    if (matched == 0) {
      ASSIGN_OR_RETURN(
          matched,
          store_.UpdateOne(kOrders, Doc("_id", order, "items.sku", Doc("$ne", sku)), first));
    }
    if (matched == 1) {
      return store_.seams().After("orders.add.c1");
    }
    ASSIGN_OR_RETURN(Order found, Get(order));
    for (const OrderItem& item : found.items) {
      if (item.sku == sku && item.price != price) {
        return MakeError(Error::kPriceChanged, sku);
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

}  // namespace quire::patterns
