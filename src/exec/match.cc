// SPDX-License-Identifier: Apache-2.0
#include "exec/match.h"

#include "base/try.h"

namespace quire::exec {

Result<bool> Match::Produce(OpContext& op, Row* row) {
  for (;;) {
    RETURN_IF_ERROR(op.CheckInterrupt());
    ASSIGN_OR_RETURN(bool more, input_->Next(op, row));
    if (!more) {
      return false;
    }
    ASSIGN_OR_RETURN(bool matches, filter_->Matches(row->document, &row->meta));
    if (matches) {
      return true;
    }
  }
}

}  // namespace quire::exec
