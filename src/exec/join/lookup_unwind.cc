// SPDX-License-Identifier: Apache-2.0
#include "exec/join/lookup_unwind.h"

#include "base/try.h"
#include "expr/row_size.h"

namespace quire::exec {

Result<bool> LookupUnwind::Produce(OpContext& op, Row* row) {
  for (;;) {
    RETURN_IF_ERROR(op.CheckInterrupt());
    if (!has_outer_) {
      ASSIGN_OR_RETURN(has_outer_, input_->Next(op, &outer_));
      if (!has_outer_) {
        return false;
      }
      index_ = 0;
    }
    if (joined_ == nullptr) {
      ASSIGN_OR_RETURN(joined_, inner_(op, outer_));
    }
    Row found;
    ASSIGN_OR_RETURN(bool another, joined_->Next(op, &found));
    if (another) {
      Show(bson::Value(found.document), bson::Value(index_++), row);
      RETURN_IF_ERROR(expr::CheckRowSize(row->document.size()));
      return true;
    }
    joined_.reset();
    has_outer_ = false;
    if (index_ == 0 && unwind_.preserve) {
      Show(bson::Value(), bson::Value::Null(), row);
      return true;
    }
  }
}

void LookupUnwind::Show(const bson::Value& joined, const bson::Value& index, Row* row) {
  *row = outer_;
  document_.clear();
  SetNested(outer_.document, unwind_.path, joined, &document_);
  row->document = bson::View(document_.data());
  if (!unwind_.index_path.empty()) {
    indexed_.clear();
    SetNested(row->document, unwind_.index_path, index, &indexed_);
    row->document = bson::View(indexed_.data());
  }
  charge_.Set(document_.capacity() + indexed_.capacity());
}

}  // namespace quire::exec
