// SPDX-License-Identifier: Apache-2.0
//
// TEXT_MATCH: of the documents that have a term of a text search, those that it finds.
#pragma once

#include "exec/operator.h"
#include "exec/stepped_over.h"
#include "expr/text/text.h"

namespace quire::exec {

// Keeps the rows that pass the query's phrases and negations and have its terms in the case and
// with the marks asked for. What they carry stays.
class TextMatch final : public SteppedOver {
 public:
  // Everything given outlives it.
  TextMatch(Operator* input, const expr::text::IndexSpec* spec, const expr::text::Query* query)
      : SteppedOver(input), spec_(spec), query_(query) {}

  uint64_t rejected() const { return rejected_; }

 private:
  Result<Step> DoWork(OpContext& op, Row* row) override;

  const expr::text::IndexSpec* spec_;
  const expr::text::Query* query_;
  uint64_t rejected_ = 0;
};

}  // namespace quire::exec
