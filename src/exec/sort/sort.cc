// SPDX-License-Identifier: Apache-2.0
#include "exec/sort/sort.h"

#include "base/try.h"

namespace quire::exec {

Result<Step> Sort::TakeOne(OpContext& op, Row* row) {
  ASSIGN_OR_RETURN(Step step, StepOfInput(op, row));
  if (step == Step::kRow) {
    key_.clear();
    RETURN_IF_ERROR(pattern_->AppendKey(row->document, &row->meta, *context_, &key_));
    RETURN_IF_ERROR(sorter_.Add(key_, *row));
  } else if (step == Step::kEnd) {
    RETURN_IF_ERROR(sorter_.Finish());
    sorted_ = true;
    counters_.memory = sorter_.peak_memory();
    counters_.sorted_bytes = sorter_.sorted_bytes();
    counters_.spills = sorter_.spills();
    counters_.spilled_bytes = sorter_.spilled_bytes();
  }
  return Step::kAgain;
}

Result<Step> Sort::DoWork(OpContext& op, Row* row) {
  if (!sorted_) {
    return TakeOne(op, row);
  }
  ASSIGN_OR_RETURN(bool more, sorter_.Next(row));
  return more ? Step::kRow : Step::kEnd;
}

}  // namespace quire::exec
