// SPDX-License-Identifier: Apache-2.0
#include "exec/count.h"

#include "base/try.h"

namespace quire::exec {

Result<bool> Count::Produce(OpContext& op, Row* row) {
  if (done_) {
    return false;
  }
  Row ignored;
  for (;; ++n_) {
    ASSIGN_OR_RETURN(bool more, input_->Next(op, &ignored));
    if (!more) {
      break;
    }
  }
  done_ = true;
  if (n_ == 0) {
    return false;
  }
  bson::Builder builder;
  if (n_ <= INT32_MAX) {
    builder.Append(field_, static_cast<int32_t>(n_));
  } else {
    builder.Append(field_, n_);
  }
  document_ = builder.Finish();
  *row = Row();
  row->document = document_.view();
  return true;
}

}  // namespace quire::exec
