// SPDX-License-Identifier: Apache-2.0
//
// A collection that a multi-document transaction creates. It belongs to the transaction alone
// until that commits; its name is kept from everybody else meanwhile.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "store/catalog.h"
#include "store/transaction.h"

namespace quire::store {

// Not safe for concurrent use. Outlives the transaction: destroy that first.
class PendingCollection {
 public:
  // Makes the collection within `txn`, published when that commits. WriteConflict when another
  // transaction is creating it, NamespaceExists when it is there.
  static Result<std::unique_ptr<PendingCollection>> Create(Catalog& catalog, Transaction& txn,
                                                           std::string_view database,
                                                           std::string_view name,
                                                           bson::View options,
                                                           bson::View id_index_spec);
  ~PendingCollection();
  PendingCollection(const PendingCollection&) = delete;
  PendingCollection& operator=(const PendingCollection&) = delete;

  const std::string& ns() const { return ns_; }
  CollectionPtr info() const { return *info_; }

  // REQUIRES: the collection is empty.
  Status AddIndexes(Transaction& txn, const std::vector<NewIndex>& indexes);

 private:
  PendingCollection(Catalog* catalog, std::string ns) : catalog_(catalog), ns_(std::move(ns)) {}

  Catalog* const catalog_;
  const std::string ns_;
  // Shared with the action that publishes it on commit.
  std::shared_ptr<std::shared_ptr<CollectionInfo>> info_ =
      std::make_shared<std::shared_ptr<CollectionInfo>>();
};

}  // namespace quire::store
