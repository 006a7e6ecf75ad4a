// SPDX-License-Identifier: Apache-2.0
#include "exec/unwind.h"

#include "base/try.h"

namespace quire::exec {

Result<bool> Unwind::Produce(OpContext& op, Row* row) {
  for (;;) {
    RETURN_IF_ERROR(op.CheckInterrupt());
    if (next_ != end_) {
      Show(next_->value(), true, bson::Value(index_++), row);
      ++next_;
      return true;
    }
    ASSIGN_OR_RETURN(bool more, input_->Next(op, &current_));
    if (!more) {
      return false;
    }
    bson::Value value = GetNested(current_.document, options_.path);
    if (value.is_array() && !value.AsArray().empty()) {
      next_ = value.AsArray().begin();
      end_ = value.AsArray().end();
      index_ = 0;
      continue;
    }
    bool scalar = !value.nullish() && !value.is_array();
    if (scalar || options_.preserve) {
      Show(bson::Value(), value.is_array(), bson::Value::Null(), row);
      return true;
    }
  }
}

void Unwind::Show(const bson::Value& element, bool replace, const bson::Value& index, Row* row) {
  *row = current_;
  if (replace) {
    document_.clear();
    SetNested(current_.document, options_.path, element, &document_);
    row->document = bson::View(document_.data());
  }
  if (!options_.index_path.empty()) {
    indexed_.clear();
    SetNested(row->document, options_.index_path, index, &indexed_);
    row->document = bson::View(indexed_.data());
  }
  charge_.Set(document_.capacity() + indexed_.capacity());
}

}  // namespace quire::exec
