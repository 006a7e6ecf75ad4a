// SPDX-License-Identifier: Apache-2.0
#include "store/scan/collection_scan.h"

#include <utility>

#include "base/error_codes.h"
#include "base/try.h"
#include "expr/match/node.h"
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
  RecordId from = 0;
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
    from = *options_.after + 1;
  }
  RETURN_IF_ERROR(txn_->WriteGroups());
  ASSIGN_OR_RETURN(records_,
                   RecordCursor::Open(txn_->kv(), *collection_->state, options_.direction, from));
  return Status::Ok();
}

Result<bool> CollectionScan::AdvanceClustered(exec::Row* row) {
  bool more = false;
  if (cursor_ != nullptr) {
    ASSIGN_OR_RETURN(more, cursor_->Next());
  } else if (!point_.empty()) {
    ASSIGN_OR_RETURN(more, txn_->kv().Get(std::exchange(point_, {}), &entry_));
  }
  if (!more) {
    return false;
  }
  row->meta.record_id = ReadRecordId(cursor_ != nullptr ? cursor_->value() : entry_.view());
  ASSIGN_OR_RETURN(bool found, Fetch(*txn_, *collection_, row->meta.record_id, &document_));
  if (!found) {
    return Status(kDataCorruptionDetected,
                  "An _id of " + collection_->ns() + " leads to no document");
  }
  row->document = bson::View(document_.view().data());
  return true;
}

Result<Step> CollectionScan::Advance(OpContext& op, exec::Row* row) {
  RETURN_IF_ERROR(op.CheckInterrupt());
  if (records_ != nullptr) {
    ASSIGN_OR_RETURN(bool more, records_->Next());
    if (!more) {
      return Step::kEnd;
    }
    row->document = bson::View(records_->document().data());
    row->meta.record_id = records_->id();
  } else if (opened_) {
    ASSIGN_OR_RETURN(bool more, AdvanceClustered(row));
    if (!more) {
      return Step::kEnd;
    }
  } else {
    opened_ = true;
    RETURN_IF_ERROR(Open());
    return Step::kAgain;
  }
  ++counters_.docs_examined;
  if (options_.filter != nullptr) {
    ASSIGN_OR_RETURN(bool matches, options_.filter->Matches(row->document, &row->meta));
    if (!matches) {
      return Step::kAgain;
    }
  }
  return Step::kRow;
}

void CollectionScan::Count(Step step) {
  ++counters_.works;
  switch (step) {
    case Step::kRow:
      ++counters_.returned;
      break;
    case Step::kAgain:
      ++counters_.waits;
      break;
    case Step::kEnd:
      counters_.ended = true;
      break;
  }
}

// The loop of most scans, with nothing in it that a row passed over does not need.
Result<bool> CollectionScan::NextRecord(OpContext& op, exec::Row* row) {
  const expr::match::Node* filter = options_.filter == nullptr ? nullptr : &options_.filter->root();
  expr::match::MatchState state;
  state.metadata = &row->meta;
  while (true) {
    RETURN_IF_ERROR(op.CheckInterrupt());
    ASSIGN_OR_RETURN(const bool more, records_->Next());
    ++counters_.works;
    if (!more) {
      counters_.ended = true;
      return false;
    }
    ++counters_.docs_examined;
    row->document = bson::View(records_->document().data());
    row->meta.record_id = records_->id();
    const bool matches = filter == nullptr || filter->Matches(row->document, state);
    if (!state.error.ok()) [[unlikely]] {
      return std::move(state.error);
    }
    if (matches) {
      ++counters_.returned;
      return true;
    }
    ++counters_.waits;
  }
}

Result<bool> CollectionScan::Next(OpContext& op, exec::Row* row) {
  row->meta = expr::Metadata();
  row->meta.has_record_id = true;
  row->fetched = true;
  if (records_ != nullptr) {
    return NextRecord(op, row);
  }
  while (true) {
    ASSIGN_OR_RETURN(const Step step, Advance(op, row));
    Count(step);
    if (step != Step::kAgain) {
      return step == Step::kRow;
    }
    if (records_ != nullptr) {  // it was opened
      return NextRecord(op, row);
    }
  }
}

Result<Step> CollectionScan::Work(OpContext& op, exec::Row* row) {
  row->meta = expr::Metadata();
  row->meta.has_record_id = true;
  row->fetched = true;
  ASSIGN_OR_RETURN(const Step step, Advance(op, row));
  Count(step);
  return step;
}

}  // namespace quire::store
