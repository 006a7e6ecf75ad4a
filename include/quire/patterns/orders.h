// SPDX-License-Identifier: Apache-2.0
//
// An order and its total in one document, changed together.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "quire/patterns/error.h"
#include "quire/patterns/idempotency.h"
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

// Documents: orders {_id, total, items: [{sku, qty, price}], marks}; idempotency; jobs. Both are
// sharded by a hash of _id. Every call finds its order by _id. Safe for concurrent use.
class Orders {
 public:
  // No failover takes back what was acknowledged, unless the concerns say otherwise.
  Orders(const Client& client, std::string_view database, const Seams& seams = {},
         const Concerns& concerns = KeptByMajority());

  static const std::vector<IndexSpec>& Indexes();
  static const std::vector<ShardKeySpec>& ShardKeys();
  Status CreateIndexes() const { return store_.CreateIndexes(Indexes()); }
  Result<std::vector<std::string>> MissingIndexes() const {
    return store_.MissingIndexes(Indexes());
  }

  // Error: DuplicateKey.
  Status Create(std::string_view order, const CallKey& key = std::nullopt) const;
  // Adds `quantity` of an article at that price; with a key once, however often it is repeated.
  // Errors: InvalidAmount (quantity below 1, price below 0), OrderNotFound, PriceChanged (the order
  // has it at another price), Contention, IdempotencyKeyReuse.
  Status Add(std::string_view order, std::string_view sku, int64_t price, int64_t quantity,
             const CallKey& key = std::nullopt) const;
  // Error: OrderNotFound.
  Result<Order> Get(std::string_view order) const;

  // Forgets keys first used `options.retention` ago. skipped is 1 while another worker does.
  Result<JobReport> PurgeKeys(const PurgeOptions& options = {}) const {
    return calls_.Purge(options);
  }

  // What is wrong, a line each: totals that are not the sum of their items, articles twice.
  Result<std::vector<std::string>> CheckInvariants() const;

 private:
  Status AddOnce(std::string_view order, const OrderItem& item, const Claim& claim) const;

  Store store_;
  Idempotency calls_;
};

}  // namespace quire::patterns
