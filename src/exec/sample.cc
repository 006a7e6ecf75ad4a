// SPDX-License-Identifier: Apache-2.0
#include "exec/sample.h"

#include <algorithm>

#include "base/error_codes.h"
#include "base/try.h"

namespace quire::exec {

// Reservoir sampling: each row is kept with equal chance, in memory only those kept.
Status Sample::Choose(OpContext& op) {
  Row row;
  size_t memory = 0;
  for (uint64_t seen = 0;; ++seen) {
    RETURN_IF_ERROR(op.CheckInterrupt());
    ASSIGN_OR_RETURN(bool more, input_->Next(op, &row));
    if (!more) {
      break;
    }
    if (rows_.size() < size_) {
      rows_.emplace_back(row.document);
      memory += row.document.size();
    } else {
      uint64_t at = std::uniform_int_distribution<uint64_t>(0, seen)(random_);
      if (at < size_) {
        memory += row.document.size() - rows_[at].bytes().size();
        rows_[at] = bson::Document(row.document);
      }
    }
    if (memory > op.memory_limit) {
      return Status(kQueryExceededMemoryLimitNoDiskUseAllowed,
                    "Sort exceeded memory limit of " + std::to_string(op.memory_limit) + " bytes");
    }
  }
  std::shuffle(rows_.begin(), rows_.end(), random_);
  return Status::Ok();
}

Result<bool> Sample::Produce(OpContext& op, Row* row) {
  if (!chosen_) {
    RETURN_IF_ERROR(Choose(op));
    chosen_ = true;
  }
  if (next_ == rows_.size()) {
    return false;
  }
  *row = Row();
  row->document = rows_[next_++].view();
  return true;
}

}  // namespace quire::exec
