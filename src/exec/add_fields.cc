// SPDX-License-Identifier: Apache-2.0
#include "exec/add_fields.h"

#include "base/try.h"

namespace quire::exec {

Result<bool> AddFields::Produce(OpContext& op, Row* row) {
  ASSIGN_OR_RETURN(bool more, input_->Next(op, row));
  if (!more) {
    return false;
  }
  document_.clear();
  RETURN_IF_ERROR(fields_->Apply(evaluation_.Start(*row), &document_));
  charge_.Set(document_.capacity());
  row->document = bson::View(document_.data());
  return true;
}

}  // namespace quire::exec
