// SPDX-License-Identifier: Apache-2.0
//
// The run state of expressions evaluated row by row.
#pragma once

#include "base/arena.h"
#include "bson/walk/field_index.h"
#include "exec/operator.h"
#include "expr/agg/expression.h"
#include "expr/date/recent_texts.h"

namespace quire::exec {

// Values it gives are valid until the next Start.
class Evaluation {
 public:
  explicit Evaluation(const expr::Context* context) {
    eval_.context = context;
    eval_.arena = &arena_;
    eval_.fields = &fields_;
    eval_.texts = &texts_;
  }
  Evaluation(const Evaluation&) = delete;
  Evaluation& operator=(const Evaluation&) = delete;

  // Makes `row` the document expressions read.
  expr::agg::EvalContext& Start(const Row& row) {
    arena_.Reset();
    eval_.root = bson::Value(row.document);
    fields_.Start(row.document);
    eval_.metadata = &row.meta;
    return eval_;
  }
  expr::agg::EvalContext& eval() { return eval_; }

 private:
  Arena arena_;
  bson::FieldIndex fields_;
  expr::date::RecentTexts texts_;
  expr::agg::EvalContext eval_;
};

}  // namespace quire::exec
