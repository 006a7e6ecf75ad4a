// SPDX-License-Identifier: Apache-2.0
//
// COLLSCAN: the documents of a collection in natural order, which is the order of _id in a
// clustered collection.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "exec/operator.h"
#include "expr/match/match.h"
#include "store/catalog.h"
#include "store/records/record_cursor.h"
#include "store/transaction.h"

namespace quire::store {

struct CollectionScanOptions {
  kv::Direction direction = kv::Direction::kForward;
  // Rows that match only; may be null. Outlives the scan.
  const expr::match::Filter* filter = nullptr;
  // Begins after this record. In a capped collection CappedPositionLost when it is gone.
  std::optional<RecordId> after;
  // Of a clustered collection: from and to these keys of its index.
  std::optional<std::string> min_id;
  std::optional<std::string> max_id;
  bool max_inclusive = true;
};

class CollectionScan final : public exec::Operator {
 public:
  // `txn` outlives the scan.
  CollectionScan(CollectionPtr collection, Transaction* txn, CollectionScanOptions options)
      : collection_(std::move(collection)), txn_(txn), options_(std::move(options)) {}

  Result<bool> Next(OpContext& op, exec::Row* row) override;
  Result<exec::Step> Work(OpContext& op, exec::Row* row) override;

 private:
  Status Open();
  Status OpenClustered();
  // One step; a row's metadata are those of a new row.
  Result<exec::Step> Advance(OpContext& op, exec::Row* row);
  // The next row of records_; false at the end. A row's metadata are those of a new row.
  Result<bool> NextRecord(OpContext& op, exec::Row* row);
  // To the next record of a clustered collection; false at the end.
  Result<bool> AdvanceClustered(exec::Row* row);
  void Count(exec::Step step);

  CollectionPtr collection_;
  Transaction* txn_;
  CollectionScanOptions options_;
  bool opened_ = false;
  std::unique_ptr<RecordCursor> records_;  // not of a clustered collection
  std::unique_ptr<kv::Cursor> cursor_;     // of a clustered collection: over its _id index
  // Of a clustered collection: the one key in place of a cursor, until it is read; its entry; the
  // document an entry leads to.
  std::string point_;
  kv::ReadValue entry_;
  kv::ReadValue document_;
};

}  // namespace quire::store
