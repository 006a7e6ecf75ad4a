// SPDX-License-Identifier: Apache-2.0
//
// The plans among which a query's plan is chosen.
#pragma once

#include <string>
#include <vector>

#include "plan/enumerate.h"
#include "plan/plan_node.h"
#include "plan/planner.h"

namespace quire::plan {

// The indexes a query may use: all visible ones, or what the hint names. Error: BadValue for a
// hint that names none.
Result<std::vector<IndexChoice>> UsableIndexes(const Query& query);
// Those of query.allowed_indexes that are there.
std::vector<IndexChoice> AllowedIndexes(const Query& query);

// The hint is the index's name or key pattern.
bool HintNames(const Query& query, const store::IndexInfo& index);

// What MongoDB's planner says when it finds no plan.
Status PlannerError(int code, const Query& query, const std::string& what);

// {hint: {$natural: 1}} or -1; 0 when the hint is not that.
int NaturalHint(const Query& query);

// All documents in natural order, filtered.
PlanNodePtr CollectionScanOf(const Query& query);

// The scan that min and max ask for. Errors 51173 and its neighbours.
Result<PlanNodePtr> MinMaxScan(const Query& query, const std::vector<IndexChoice>& indexes);

// One row per value of query.distinct_path; null when no index gives that.
PlanNodePtr DistinctPlan(const Query& query, const std::vector<IndexChoice>& indexes,
                         PlanNodePtr access);

// At least one plan.
Result<std::vector<PlanNodePtr>> MakeCandidates(const Query& query,
                                                const std::vector<IndexChoice>& indexes);

}  // namespace quire::plan
