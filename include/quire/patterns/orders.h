// SPDX-License-Identifier: Apache-2.0
//
// An order and its total in one document, changed together.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "quire/patterns/error.h"
#include "quire/patterns/store.h"

namespace quire::patterns {

struct OrderItem {
  std::string sku;
  int64_t quantity = 0;
  int64_t price = 0;  // minor units, each
};

struct Order {
  int64_t total = 0;  // always the sum of quantity * price
  std::vector<OrderItem> items;
};

// Documents: orders {_id, total, items: [{sku, qty, price}]}; sharded by a hash of _id. Every call
// finds its order by _id. Safe for concurrent use.
class Orders {
 public:
  Orders(const Client& client, std::string_view database, const Seams& seams = {});

  static const std::vector<ShardKeySpec>& ShardKeys();

  // Error: DuplicateKey.
  Status Create(std::string_view order) const;
  // Adds `quantity` of an article at that price. Errors: InvalidAmount (quantity below 1, price
  // below 0), OrderNotFound, PriceChanged (the order has it at another price), Contention.
  Status Add(std::string_view order, std::string_view sku, int64_t price, int64_t quantity) const;
  // Error: OrderNotFound.
  Result<Order> Get(std::string_view order) const;

 private:
  Store store_;
};

}  // namespace quire::patterns
