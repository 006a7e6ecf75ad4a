// SPDX-License-Identifier: Apache-2.0
//
// The `n` of $firstN, $topN and their relatives.
#pragma once

#include <cstdint>

#include "expr/agg/expression.h"
#include "quire/bson.h"
#include "quire/status.h"

namespace quire::expr {

// `n` on the group's _id: a positive integer. Error 7548606 for anything else.
Result<int64_t> EvaluateCount(const agg::Expression& n, agg::EvalContext& eval,
                              const bson::Value& group);
Result<int64_t> CheckCount(const bson::Value& n);

}  // namespace quire::expr
