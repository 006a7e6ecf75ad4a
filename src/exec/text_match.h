// SPDX-License-Identifier: Apache-2.0
//
// TEXT_MATCH: the rows that a text search finds, with their scores.
#pragma once

#include <utility>

#include "exec/operator.h"
#include "expr/text/text.h"

namespace quire::exec {

// Keeps the rows that have a term of the query and pass its phrases and negations; each carries
// its text score. Documents the index could not hold (an unknown language) do not match.
class TextMatch final : public Stage {
 public:
  // `input` outlives it.
  TextMatch(Operator* input, expr::text::IndexSpec spec, expr::text::Query query)
      : input_(input), spec_(std::move(spec)), query_(std::move(query)) {}

 private:
  Result<Step> DoWork(OpContext& op, Row* row) override;

  Operator* input_;
  expr::text::IndexSpec spec_;
  expr::text::Query query_;
};

}  // namespace quire::exec
