// SPDX-License-Identifier: Apache-2.0
#include "exec/limit.h"

namespace quire::exec {

Result<Step> Limit::DoWork(OpContext& op, Row* row) {
  if (left_ <= 0) {
    return Step::kEnd;
  }
  auto step = StepOfInput(op, row);
  if (step.ok() && *step == Step::kRow) {
    --left_;
  }
  return step;
}

Result<Step> Skip::DoWork(OpContext& op, Row* row) {
  auto step = StepOfInput(op, row);
  if (step.ok() && *step == Step::kRow && left_ > 0) {
    --left_;
    return Step::kAgain;
  }
  return step;
}

}  // namespace quire::exec
