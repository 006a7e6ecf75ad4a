// SPDX-License-Identifier: Apache-2.0
#include "exec/sample.h"

#include "base/try.h"
#include "exec/number_key.h"

namespace quire::exec {

Status Sample::Choose(OpContext& op) {
  Row row;
  for (;;) {
    RETURN_IF_ERROR(op.CheckInterrupt());
    ASSIGN_OR_RETURN(bool more, input_->Next(op, &row));
    if (!more) {
      return sorter_.Finish();
    }
    RETURN_IF_ERROR(sorter_.Add(NumberKey(random_()), row));
  }
}

Result<bool> Sample::Produce(OpContext& op, Row* row) {
  if (!chosen_) {
    RETURN_IF_ERROR(Choose(op));
    chosen_ = true;
  }
  return sorter_.Next(row);
}

}  // namespace quire::exec
