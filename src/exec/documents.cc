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

Result<Documents::List> ReadAll(OpContext& op, Operator& input, int code) {
  Documents::List list;
  size_t memory = 0;
  Row row;
  for (;;) {
    ASSIGN_OR_RETURN(bool more, input.Next(op, &row));
    if (!more) {
      return list;
    }
    memory += row.document.size() + sizeof(bson::Document);
    if (memory > op.memory_limit) {
      return Status(code,
                    "exceeded the memory limit of " + std::to_string(op.memory_limit) + " bytes");
    }
    list.emplace_back(row.document);
  }
}

}  // namespace quire::exec
