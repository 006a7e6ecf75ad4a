// SPDX-License-Identifier: Apache-2.0
#include "exec/replace_root.h"

#include "base/try.h"
#include "expr/projection/stage_spec.h"

namespace quire::exec {

Result<bool> ReplaceRoot::Produce(OpContext& op, Row* row) {
  ASSIGN_OR_RETURN(bool more, input_->Next(op, row));
  if (!more) {
    return false;
  }
  ASSIGN_OR_RETURN(bson::Value root, root_->Evaluate(evaluation_.Start(*row)));
  RETURN_IF_ERROR(expr::CheckNewRoot(root, row->document));
  row->document = root.AsDocument();
  return true;
}

}  // namespace quire::exec
