// SPDX-License-Identifier: Apache-2.0
//
// From a way to reach the documents to a whole plan: sort, skip, projection and limit, each where
// it costs least.
#pragma once

#include "plan/plan_node.h"
#include "plan/query.h"

namespace quire::plan {

// Whether the rows of `node` know the value of `path` without a fetch.
bool Provides(const PlanNode& node, const std::string& path);

// What explain calls the projection of documents.
NodeKind ProjectionKind(const QuerySpec& query);
// The same of a projection of the query's rows other than its own.
NodeKind ProjectionKind(const QuerySpec& query, bson::View fields);

// The whole plan. *blocking tells whether it must take in all rows before it gives the first.
PlanNodePtr Arrange(const QuerySpec& query, PlanNodePtr access, bool* blocking);

}  // namespace quire::plan
