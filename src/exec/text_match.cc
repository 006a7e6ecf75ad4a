// SPDX-License-Identifier: Apache-2.0
#include "exec/text_match.h"

#include "base/try.h"

namespace quire::exec {

Result<Step> TextMatch::DoWork(OpContext& op, Row* row) {
  ASSIGN_OR_RETURN(Step step, StepOfInput(op, row));
  if (step != Step::kRow) {
    return step;
  }
  ASSIGN_OR_RETURN(const bool matches, query_->Matches(*spec_, row->document));
  if (!matches) {
    ++rejected_;
    return Step::kAgain;
  }
  return step;
}

}  // namespace quire::exec
