// SPDX-License-Identifier: Apache-2.0
//
// COUNT: the rows that a count counts, after its skip and up to its limit.
#pragma once

#include <cstdint>

#include "exec/operator.h"
#include "exec/stepped_over.h"

namespace quire::plan {

class CountRows final : public exec::SteppedOver {
 public:
  // `limit` 0: all. `input` outlives it.
  CountRows(exec::Operator* input, int64_t skip, int64_t limit)
      : exec::SteppedOver(input), skip_(skip), limit_(limit) {}

  int64_t skipped() const { return skipped_; }

 protected:
  Result<exec::Step> DoWork(OpContext& op, exec::Row* row) override {
    if (limit_ > 0 && static_cast<int64_t>(counters_.returned) >= limit_) {
      return exec::Step::kEnd;
    }
    auto step = StepOfInput(op, row);
    if (step.ok() && *step == exec::Step::kRow && skipped_ < skip_) {
      ++skipped_;
      return exec::Step::kAgain;
    }
    return step;
  }

 private:
  int64_t skip_;
  int64_t limit_;
  int64_t skipped_ = 0;
};

}  // namespace quire::plan
