// SPDX-License-Identifier: Apache-2.0
//
// COLLSCAN: the documents of a collection in natural order.
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
  // The end is only "nothing more yet": see Rebind.
  bool tailable = false;
};

class CollectionScan final : public exec::Stage {
 public:
  // `txn` outlives the scan or is replaced by Rebind.
  CollectionScan(CollectionPtr collection, Transaction* txn, CollectionScanOptions options)
      : collection_(std::move(collection)), txn_(txn), options_(options) {}

  // Lets go of the transaction, which may end then.
  void Unbind();
  // Goes on after the last row with what `txn` sees. CappedPositionLost when that row is gone.
  Status Rebind(Transaction* txn);

 protected:
  Result<exec::Step> DoWork(OpContext& op, exec::Row* row) override;

 private:
  Status Open();

  CollectionPtr collection_;
  Transaction* txn_;
  CollectionScanOptions options_;
  std::unique_ptr<kv::Cursor> cursor_;
  std::optional<RecordId> last_;
};

}  // namespace quire::store
