// SPDX-License-Identifier: Apache-2.0
#include "store/collection_scan.h"

#include "base/error_codes.h"
#include "base/try.h"
#include "store/collection.h"

namespace quire::store {

using exec::Step;

Status CollectionScan::Open() {
  kv::Range range = TableRange(collection_->clustered ? collection_->indexes.front()->table->id
                                                      : collection_->table->id);
  if (options_.after.has_value()) {
    kv::ReadValue value;
    bool found = true;
    if (collection_->capped) {
      ASSIGN_OR_RETURN(found, Fetch(*txn_, *collection_, *options_.after, &value));
    }
    if (!found) {
      return {kCappedPositionLost,
              "CollectionScan died due to position in capped collection being deleted. Last seen "
              "record id: RecordId(" +
                  std::to_string(*options_.after) + ")"};
    }
    range.begin = RecordKey(collection_->table->id, *options_.after + 1);
  }
  ASSIGN_OR_RETURN(cursor_, txn_->kv().Scan(std::move(range), options_.direction));
  return Status::Ok();
}

Status CollectionScan::Load(exec::Row* row) {
  if (!collection_->clustered) {
    row->document = bson::View(cursor_->value().data());
    row->meta.record_id = ReadRecordId(cursor_->key().substr(4));
    return Status::Ok();
  }
  row->meta.record_id = ReadRecordId(cursor_->value());
  ASSIGN_OR_RETURN(bool found, Fetch(*txn_, *collection_, row->meta.record_id, &document_));
  if (!found) {
    return {kDataCorruptionDetected, "An _id of " + collection_->ns() + " leads to no document"};
  }
  row->document = bson::View(document_.view().data());
  return Status::Ok();
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
  row->meta = expr::Metadata();
  RETURN_IF_ERROR(Load(row));
  row->fetched = true;
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
