// SPDX-License-Identifier: Apache-2.0
//
// $match: the rows a filter accepts.
#pragma once

#include "exec/unary.h"
#include "expr/match/match.h"

namespace quire::exec {

// `filter` outlives it.
class Match final : public Unary {
 public:
  Match(std::unique_ptr<Operator> input, const expr::match::Filter* filter)
      : Unary(std::move(input)), filter_(filter) {}

 protected:
  Result<bool> Produce(OpContext& op, Row* row) override;

 private:
  const expr::match::Filter* filter_;
};

}  // namespace quire::exec
