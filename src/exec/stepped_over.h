// SPDX-License-Identifier: Apache-2.0
//
// What stepped operators over one input share.
#pragma once

#include "base/try.h"
#include "exec/operator.h"

namespace quire::exec {

// An operator written as steps of its input; counts them. Asked for a row by Next it asks the input
// for rows, too, and not for steps: nobody wants to stop in between, and the input goes through
// what it passes over by itself. Either way the steps are counted as if made one by one.
class SteppedOver : public Operator {
 public:
  Result<bool> Next(OpContext& op, Row* row) final {
    asked_for_row_ = true;
    while (true) {
      ASSIGN_OR_RETURN(const Step step, CountedWork(op, row));
      if (step != Step::kAgain) {
        return step == Step::kRow;
      }
    }
  }
  Result<Step> Work(OpContext& op, Row* row) final {
    asked_for_row_ = false;
    return CountedWork(op, row);
  }

 protected:
  // `input` outlives it.
  explicit SteppedOver(Operator* input) : input_(input) {}

  // One step, by means of StepOfInput.
  virtual Result<Step> DoWork(OpContext& op, Row* row) = 0;
  Result<Step> StepOfInput(OpContext& op, Row* row) {
    if (!asked_for_row_) {
      return input_->Work(op, row);
    }
    const uint64_t before = input_->counters().works;
    ASSIGN_OR_RETURN(const bool more, input_->Next(op, row));
    const uint64_t steps = input_->counters().works - before;
    if (steps > 1) {  // the last one is counted as this operator's own
      counters_.works += steps - 1;
      counters_.waits += steps - 1;
    }
    return more ? Step::kRow : Step::kEnd;
  }

  Operator* const input_;

 private:
  Result<Step> CountedWork(OpContext& op, Row* row) {
    ++counters_.works;
    auto step = DoWork(op, row);
    if (step.ok()) {
      counters_.returned += *step == Step::kRow ? 1 : 0;
      counters_.waits += *step == Step::kAgain ? 1 : 0;
      counters_.ended = counters_.ended || *step == Step::kEnd;
    }
    return step;
  }

  bool asked_for_row_ = false;
};

}  // namespace quire::exec
