// SPDX-License-Identifier: Apache-2.0
#include "exec/count.h"

#include "base/try.h"

namespace quire::exec {

Result<bool> Count::Produce(OpContext& op, Row* row) {
  if (done_) {
    return false;
  }
  done_ = true;
  int64_t n = 0;
  Row ignored;
  for (;; ++n) {
    ASSIGN_OR_RETURN(bool more, input_->Next(op, &ignored));
    if (!more) {
      break;
    }
  }
  if (n == 0) {
    return false;
  }
  bson::Builder builder;
  if (n <= INT32_MAX) {
    builder.Append(field_, static_cast<int32_t>(n));
  } else {
    builder.Append(field_, n);
  }
  document_ = builder.Finish();
  *row = Row();
  row->document = document_.view();
  return true;
}

}  // namespace quire::exec
