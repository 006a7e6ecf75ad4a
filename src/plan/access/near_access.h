// SPDX-License-Identifier: Apache-2.0
//
// Documents near a point, in the order of their distance.
#pragma once

#include "plan/plan_node.h"
#include "plan/query.h"

namespace quire::plan {

// The plan of a query with $near at the top. REQUIRES: query.collection.
Result<PlanNodePtr> NearAccess(const QuerySpec& query);

}  // namespace quire::plan
