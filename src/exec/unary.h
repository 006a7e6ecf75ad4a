// SPDX-License-Identifier: Apache-2.0
//
// What operators that own their input share.
#pragma once

#include <memory>
#include <utility>

#include "base/current_op.h"
#include "base/try.h"
#include "exec/operator.h"

namespace quire::exec {

// Reads one input. Counts the rows that `Produce` gives.
class Unary : public Operator {
 public:
  Result<bool> Next(OpContext& op, Row* row) final {
    ++counters_.works;
    RETURN_IF_ERROR(op.CheckInterrupt());
    Result<bool> more = Produce(op, row);
    counters_.returned += more.ok() && *more;
    // A chain of stages makes large documents one after the other without asking again. Of the
    // thread's operation: one that only takes rows ahead would lose this one.
    if (more.ok() && *more && row->document.size() > kLarge) [[unlikely]] {
      RETURN_IF_ERROR(CheckCurrentOpNow());
    }
    return more;
  }

 protected:
  explicit Unary(std::unique_ptr<Operator> input) : input_(std::move(input)) {}
  virtual Result<bool> Produce(OpContext& op, Row* row) = 0;

  std::unique_ptr<Operator> input_;

 private:
  static constexpr uint32_t kLarge = 64 << 10;
};

// An operator that borrows its input, together with that input.
class WithInput final : public Operator {
 public:
  WithInput(std::unique_ptr<Operator> input, std::unique_ptr<Operator> top)
      : input_(std::move(input)), top_(std::move(top)) {}
  Result<bool> Next(OpContext& op, Row* row) override {
    Result<bool> more = top_->Next(op, row);
    counters_ = top_->counters();
    return more;
  }

 private:
  std::unique_ptr<Operator> input_;
  std::unique_ptr<Operator> top_;
};

}  // namespace quire::exec
