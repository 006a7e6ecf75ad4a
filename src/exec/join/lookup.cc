// SPDX-License-Identifier: Apache-2.0
#include "exec/join/lookup.h"

#include "base/try.h"
#include "expr/row_size.h"

namespace quire::exec {

Result<bool> Lookup::Produce(OpContext& op, Row* row) {
  RETURN_IF_ERROR(op.CheckInterrupt());
  if (!has_outer_) {
    ASSIGN_OR_RETURN(has_outer_, input_->Next(op, &outer_));
    if (!has_outer_) {
      return false;
    }
  }
  if (joined_ == nullptr) {
    ASSIGN_OR_RETURN(joined_, inner_(op, outer_));
    array_.clear();
    builder_.emplace(&array_);
  }
  RETURN_IF_ERROR(Join(op));
  *row = outer_;
  document_.clear();
  SetNested(outer_.document, as_, bson::Value::Array(bson::View(array_.data())), &document_);
  charge_.Set(array_.capacity() + document_.capacity());
  RETURN_IF_ERROR(expr::CheckRowSize(document_.size()));
  row->document = bson::View(document_.data());
  has_outer_ = false;
  joined_.reset();
  return true;
}

Status Lookup::Join(OpContext& op) {
  constexpr size_t kMaxJoined = size_t{100} << 20;
  Row found;
  for (;;) {
    ASSIGN_OR_RETURN(bool another, joined_->Next(op, &found));
    if (!another) {
      builder_->Close();
      return Status::Ok();
    }
    builder_->Push(found.document);
    if (builder_->size() > kMaxJoined) {
      return {4568, "Total size of documents matching the pipeline's $lookup stage exceeds " +
                        std::to_string(kMaxJoined) + " bytes"};
    }
  }
}

}  // namespace quire::exec
