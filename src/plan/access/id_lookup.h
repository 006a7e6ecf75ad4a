// SPDX-License-Identifier: Apache-2.0
//
// The shortest plan: {_id: value} goes straight to the document.
#pragma once

#include "plan/plan_node.h"
#include "plan/query.h"

namespace quire::plan {

// The value of {_id: value} when the filter is just that and names no operator; else missing.
bson::Value SimpleId(bson::View filter);

// Null when the query is not that.
PlanNodePtr IdLookupPlan(const QuerySpec& query);

}  // namespace quire::plan
