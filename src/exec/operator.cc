// SPDX-License-Identifier: Apache-2.0
#include "exec/operator.h"

#include "base/try.h"

namespace quire::exec {

namespace {

// No number of an error: it never gets to a client.
constexpr int kNotYet = -1;

}  // namespace

Status NotYet() {
  static const auto* status = new Status(kNotYet, "rows are on their way");
  return *status;
}

bool IsNotYet(const Status& status) { return !status.ok() && status.code() == kNotYet; }

Result<Step> Operator::Work(OpContext& op, Row* row) {
  ASSIGN_OR_RETURN(bool more, Next(op, row));
  return more ? Step::kRow : Step::kEnd;
}

Result<bool> SteppedOperator::Next(OpContext& op, Row* row) {
  while (true) {
    auto step = Work(op, row);
    if (!step.ok()) {
      return std::move(step).status();
    }
    if (*step != Step::kAgain) {
      return *step == Step::kRow;
    }
  }
}

Result<Step> SteppedOperator::Work(OpContext& op, Row* row) {
  ++counters_.works;
  auto step = DoWork(op, row);
  if (!step.ok()) {
    return step;
  }
  switch (*step) {
    case Step::kRow:
      ++counters_.returned;
      break;
    case Step::kAgain:
      ++counters_.waits;
      break;
    case Step::kEnd:
      counters_.ended = true;
      break;
  }
  return step;
}

}  // namespace quire::exec
