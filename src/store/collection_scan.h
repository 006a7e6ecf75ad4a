// SPDX-License-Identifier: Apache-2.0
//
// COLLSCAN: the documents of a collection in natural order, which is the order of _id in a
// clustered collection.
#pragma once

#include <memory>
#include <optional>

#include "exec/operator.h"
#include "expr/match/match.h"
#include "store/catalog.h"
#include "store/transaction.h"

namespace quire::store {

struct CollectionScanOptions {
  kv::Direction direction = kv::Direction::kForward;
  // Rows that match only; may be null. Outlives the scan.
  const expr::match::Filter* filter = nullptr;
  // Begins after this record. In a capped collection CappedPositionLost when it is gone.
  std::optional<RecordId> after;
};

class CollectionScan final : public exec::Stage {
 public:
  // `txn` outlives the scan.
  CollectionScan(CollectionPtr collection, Transaction* txn, CollectionScanOptions options)
      : collection_(std::move(collection)), txn_(txn), options_(options) {}

 protected:
  Result<exec::Step> DoWork(OpContext& op, exec::Row* row) override;

 private:
  Status Open();
  // The record the cursor stands on, into the row.
  Status Load(exec::Row* row);

  CollectionPtr collection_;
  Transaction* txn_;
  CollectionScanOptions options_;
  std::unique_ptr<kv::Cursor> cursor_;  // of a clustered collection: over its _id index
  kv::ReadValue document_;              // what a clustered collection's entry leads to
};

}  // namespace quire::store
