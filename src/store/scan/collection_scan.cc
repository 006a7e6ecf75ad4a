// SPDX-License-Identifier: Apache-2.0
#include "store/scan/collection_scan.h"

#include <utility>

#include "base/error_codes.h"
#include "base/try.h"
#include "store/collection.h"

namespace quire::store {

using exec::Step;

Status CollectionScan::OpenClustered() {
  kv::Range range = TableRange(collection_->indexes.front()->table->id);
  std::string prefix = range.begin;
  if (options_.min_id.has_value()) {
    range.begin = prefix + *options_.min_id;
  }
  if (options_.max_id.has_value()) {
    range.end = prefix + *options_.max_id;
    if (options_.max_inclusive && range.begin == range.end) {
      point_ = std::move(range.begin);
      return Status::Ok();
    }
    if (options_.max_inclusive) {
      range.end.push_back('\0');
    }
  }
  if (range.begin < range.end) {
    ASSIGN_OR_RETURN(cursor_, txn_->kv().Scan(std::move(range), options_.direction));
  }
  return Status::Ok();
}

Status CollectionScan::Open() {
  if (collection_->clustered) {
    return OpenClustered();
  }
  kv::Range range = TableRange(collection_->table->id);
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

Result<bool> CollectionScan::Advance() {
  if (cursor_ != nullptr) {
    return cursor_->Next();
  }
  if (point_.empty()) {
    return false;
  }
  return txn_->kv().Get(std::exchange(point_, {}), &entry_);
}

Status CollectionScan::Load(exec::Row* row) {
  if (!collection_->clustered) {
    row->document = bson::View(cursor_->value().data());
    row->meta.record_id = ReadRecordId(cursor_->key().substr(4));
    return Status::Ok();
  }
  row->meta.record_id = ReadRecordId(cursor_ != nullptr ? cursor_->value() : entry_.view());
  ASSIGN_OR_RETURN(bool found, Fetch(*txn_, *collection_, row->meta.record_id, &document_));
  if (!found) {
    return {kDataCorruptionDetected, "An _id of " + collection_->ns() + " leads to no document"};
  }
  row->document = bson::View(document_.view().data());
  return Status::Ok();
}

Result<Step> CollectionScan::DoWork(OpContext& op, exec::Row* row) {
  RETURN_IF_ERROR(op.CheckInterrupt());
  if (!opened_) {
    opened_ = true;
    RETURN_IF_ERROR(Open());
    return Step::kAgain;
  }
  ASSIGN_OR_RETURN(bool more, Advance());
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
