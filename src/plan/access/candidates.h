// SPDX-License-Identifier: Apache-2.0
//
// The plans among which a query's plan is chosen.
#pragma once

#include <string>
#include <vector>

#include "plan/bounds/index_choice.h"
#include "plan/plan_node.h"
#include "plan/query.h"

namespace quire::plan {

// The indexes a query may use: all visible ones, or what the hint names. Error: BadValue for a
// hint that names none.
Result<std::vector<IndexChoice>> UsableIndexes(const QuerySpec& query);
// The indexes of query.allowed_indexes that are there.
std::vector<IndexChoice> AllowedIndexes(const QuerySpec& query);

// All documents in natural order, filtered.
PlanNodePtr CollectionScanOf(const QuerySpec& query);

// The scan that min and max ask for. Errors 51173 and its neighbours.
Result<PlanNodePtr> MinMaxScan(const QuerySpec& query, const std::vector<IndexChoice>& indexes);

// One row per value of query.distinct_path; null when no index gives that.
PlanNodePtr DistinctPlan(const QuerySpec& query, const std::vector<IndexChoice>& indexes,
                         PlanNodePtr access);

// At least one plan.
Result<std::vector<PlanNodePtr>> MakeCandidates(const QuerySpec& query,
                                                const std::vector<IndexChoice>& indexes);

}  // namespace quire::plan
