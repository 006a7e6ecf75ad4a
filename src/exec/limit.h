// SPDX-License-Identifier: Apache-2.0
//
// LIMIT and SKIP.
#pragma once

#include <cstdint>

#include "exec/operator.h"
#include "exec/stepped_over.h"

namespace quire::exec {

// The first `limit` rows. `input` outlives it.
class Limit final : public SteppedOver {
 public:
  Limit(Operator* input, int64_t limit) : SteppedOver(input), left_(limit) {}
  bool AtEnd() const override { return left_ <= 0 || input_->AtEnd(); }

 protected:
  Result<Step> DoWork(OpContext& op, Row* row) override;

 private:
  int64_t left_;
};

// All but the first `skip` rows. `input` outlives it.
class Skip final : public SteppedOver {
 public:
  Skip(Operator* input, int64_t skip) : SteppedOver(input), left_(skip) {}
  bool AtEnd() const override { return input_->AtEnd(); }

 protected:
  Result<Step> DoWork(OpContext& op, Row* row) override;

 private:
  int64_t left_;
};

// No rows.
class Eof final : public SteppedOperator {
 public:
  bool AtEnd() const override { return true; }

 protected:
  Result<Step> DoWork(OpContext&, Row*) override { return Step::kEnd; }
};

}  // namespace quire::exec
