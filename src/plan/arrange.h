// SPDX-License-Identifier: Apache-2.0
//
// From a way to reach the documents to a whole plan: sort, skip, projection and limit, each where
// it costs least.
#pragma once

#include "plan/plan_node.h"
#include "plan/planner.h"

namespace quire::plan {

// The order in which an index scan gives rows, against the query's sort.
enum class SortOrder { kNone, kForward, kBackward };

// REQUIRES: the query sorts; `scan` is an index scan.
SortOrder OrderOf(const Query& query, const PlanNode& scan);

bool Sorts(const Query& query);

// Whether the rows of `node` know the value of `path` without a fetch.
bool Provides(const PlanNode& node, const std::string& path);

// What explain calls the projection of documents.
StageKind ProjectionKind(const Query& query);
// The same of a projection of the query's rows other than its own.
StageKind ProjectionKind(const Query& query, bson::View fields);

// The whole plan. *blocking tells whether it must take in all rows before it gives the first.
PlanNodePtr Arrange(const Query& query, PlanNodePtr access, bool* blocking);

}  // namespace quire::plan
