// SPDX-License-Identifier: Apache-2.0
//
// Access for the two operators that need an index of their own kind: $text and $near.
#pragma once

#include "plan/plan_node.h"
#include "plan/planner.h"

namespace quire::plan {

// Null when the filter has neither. Errors: IndexNotFound without a text index (or a geo index to
// guess), NoQueryExecutionPlans without a geo index on the path or for $text under $or, BadValue
// for $text with a hint or natural order.
Result<PlanNodePtr> SpecialAccess(const Query& query);

// The index serves $text or geo predicates and no others.
bool IsSpecialIndex(const store::IndexInfo& index);

}  // namespace quire::plan
