// SPDX-License-Identifier: Apache-2.0
//
// Access for the two operators that need an index of their own kind: $text and $near.
#pragma once

#include "plan/plan_node.h"
#include "plan/query.h"

namespace quire::plan {

// Null when the filter has neither. Errors: IndexNotFound without a text index (or a geo index to
// guess), NoQueryExecutionPlans without an index that can answer, BadValue for $text with a hint or
// natural order, 16433 for a point outside of a 2d index.
Result<PlanNodePtr> SpecialAccess(const QuerySpec& query);

}  // namespace quire::plan
