// SPDX-License-Identifier: Apache-2.0
//
// SORT_KEY_GENERATOR: the sort keys of rows that come in order without having been sorted here.
#pragma once

#include <string>

#include "base/try.h"
#include "exec/operator.h"
#include "expr/sort/sort_key.h"

namespace quire::exec {

// Puts Row::sort_key in. Everything given outlives it.
class SortKeys final : public SteppedOperator {
 public:
  SortKeys(Operator* input, const expr::SortPattern* pattern, const expr::Context* context)
      : input_(input), pattern_(*pattern), context_(*context) {}
  bool AtEnd() const override { return input_->AtEnd(); }

 protected:
  Result<Step> DoWork(OpContext& op, Row* row) override {
    ASSIGN_OR_RETURN(const Step step, input_->Work(op, row));
    if (step == Step::kRow) {
      key_.clear();
      RETURN_IF_ERROR(pattern_.AppendKey(row->document, &row->meta, context_, &key_));
      row->sort_key = key_;
    }
    return step;
  }

 private:
  Operator* input_;
  const expr::SortPattern& pattern_;
  const expr::Context& context_;
  std::string key_;
};

}  // namespace quire::exec
