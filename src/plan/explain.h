// SPDX-License-Identifier: Apache-2.0
//
// Plans as MongoDB's explain shows them.
#pragma once

#include <string>
#include <string_view>

#include "plan/lower.h"
#include "plan/plan_node.h"
#include "plan/planner.h"
#include "quire/bson.h"

namespace quire::plan {

// The fields of queryPlanner.
void AppendPlannerFields(const Query& query, const PlanNode& root, bson::Builder* out);
// The fields of executionStats.
void AppendExecutionFields(const Running& running, std::string_view verbosity, bson::Builder* out);
// "COLLSCAN", "IXSCAN { a: 1 }"...
std::string SummaryOf(const PlanNode& root);

}  // namespace quire::plan
