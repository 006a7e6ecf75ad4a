// SPDX-License-Identifier: Apache-2.0
#include "store/collection_scan.h"

#include "base/error_codes.h"
#include "base/try.h"
#include "store/collection.h"

namespace quire::store {

using exec::Step;

Status CollectionScan::Open() {
  kv::Range range = TableRange(collection_->table->id);
  if (last_.has_value()) {
    if (options_.direction == kv::Direction::kForward) {
      range.begin = RecordKey(collection_->table->id, *last_ + 1);
    } else {
      range.end = RecordKey(collection_->table->id, *last_);
    }
  }
  ASSIGN_OR_RETURN(cursor_, txn_->kv().Scan(std::move(range), options_.direction));
  return Status::Ok();
}

void CollectionScan::Unbind() {
  cursor_.reset();
  txn_ = nullptr;
}

Status CollectionScan::Rebind(Transaction* txn) {
  Unbind();
  txn_ = txn;
  if (last_.has_value()) {
    kv::ReadValue value;
    ASSIGN_OR_RETURN(bool found, Fetch(*txn_, *collection_, *last_, &value));
    if (!found) {
      return {kCappedPositionLost,
              "CollectionScan died due to position in capped collection being deleted. Last seen "
              "record id: RecordId(" +
                  std::to_string(*last_) + ")"};
    }
  }
  return Open();
}

Result<Step> CollectionScan::DoWork(OpContext& op, exec::Row* row) {
  RETURN_IF_ERROR(op.CheckInterrupt());
  if (cursor_ == nullptr) {
    RETURN_IF_ERROR(Open());
    return Step::kAgain;
  }
  ASSIGN_OR_RETURN(bool more, cursor_->Next());
  if (!more) {
    return Step::kEnd;
  }
  ++counters_.docs_examined;
  last_ = ReadRecordId(cursor_->key().substr(4));
  row->document = bson::View(cursor_->value().data());
  row->fetched = true;
  row->meta = expr::Metadata();
  row->meta.record_id = *last_;
  row->meta.has_record_id = true;
  if (options_.filter != nullptr) {
    ASSIGN_OR_RETURN(bool matches, options_.filter->Matches(row->document, &row->meta));
    if (!matches) {
      return Step::kAgain;
    }
  }
  return Step::kRow;
}

}  // namespace quire::store
