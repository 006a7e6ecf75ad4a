// SPDX-License-Identifier: Apache-2.0
#include "store/fetch.h"

#include "base/try.h"
#include "store/collection.h"

namespace quire::store {

using exec::Step;

Result<Step> FetchStage::DoWork(OpContext& op, exec::Row* row) {
  auto step = input_->Work(op, row);
  if (!step.ok() || *step != Step::kRow) {
    return step;
  }
  if (row->fetched) {
    ++counters_.already_fetched;
  } else {
    ASSIGN_OR_RETURN(bool found, Fetch(*txn_, *collection_, row->meta.record_id, &value_));
    if (!found) {
      return Step::kAgain;
    }
    ++counters_.docs_examined;
    row->document = bson::View(value_.view().data());
    row->fetched = true;
  }
  if (filter_ != nullptr) {
    ASSIGN_OR_RETURN(bool matches, filter_->Matches(row->document, &row->meta));
    if (!matches) {
      return Step::kAgain;
    }
  }
  return Step::kRow;
}

Result<Step> IdLookup::DoWork(OpContext& op, exec::Row* row) {
  RETURN_IF_ERROR(op.CheckInterrupt());
  if (done_) {
    return Step::kEnd;
  }
  done_ = true;
  ++counters_.seeks;
  ASSIGN_OR_RETURN(auto id, FindById(*txn_, *collection_, id_));
  if (!id.has_value()) {
    return Step::kEnd;
  }
  ++counters_.keys_examined;
  ASSIGN_OR_RETURN(bool found, Fetch(*txn_, *collection_, *id, &value_));
  if (!found) {
    return Step::kEnd;
  }
  ++counters_.docs_examined;
  row->document = bson::View(value_.view().data());
  row->fetched = true;
  row->meta = expr::Metadata();
  row->meta.record_id = *id;
  row->meta.has_record_id = true;
  return Step::kRow;
}

}  // namespace quire::store
