// SPDX-License-Identifier: Apache-2.0
#include "exec/documents.h"

#include "base/try.h"

namespace quire::exec {

Result<bool> Documents::Next(OpContext& op, Row* row) {
  RETURN_IF_ERROR(op.CheckInterrupt());
  if (next_ == documents_->size()) {
    return false;
  }
  *row = Row();
  row->document = (*documents_)[next_++].view();
  ++counters_.returned;
  return true;
}

}  // namespace quire::exec
