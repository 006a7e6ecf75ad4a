// SPDX-License-Identifier: Apache-2.0
#include "exec/combine/union_with.h"

#include "base/try.h"

namespace quire::exec {

Result<bool> UnionWith::Produce(OpContext& op, Row* row) {
  if (!input_ended_) {
    ASSIGN_OR_RETURN(bool more, input_->Next(op, row));
    if (more) {
      return true;
    }
    input_ended_ = true;
  }
  if (other_ == nullptr) {
    ASSIGN_OR_RETURN(other_, open_(op));
  }
  return other_->Next(op, row);
}

}  // namespace quire::exec
