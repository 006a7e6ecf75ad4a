// SPDX-License-Identifier: Apache-2.0
//
// Clustered collections: the collection scan is the clustered index, so it is bounded by what the
// query says of _id and gives documents in the order of _id.
#pragma once

#include "plan/plan_node.h"
#include "plan/query.h"

namespace quire::plan {

// Whether the query's collection is clustered and that is its clustered index.
bool IsClusterKey(const QuerySpec& query, const store::IndexInfo& index);
// The hint names the clustered index.
bool HintsClusterKey(const QuerySpec& query);

// Whether min and max fit the clustered index. REQUIRES: HintsClusterKey. Errors 51174, 6137400
// and 6137401.
Status CheckClusterKeyRange(const QuerySpec& query);

// The direction in which the clustered index gives the order of the query's sort: 1, -1, or 0 when
// it does not.
int ClusterKeyDirection(const QuerySpec& query);

// Narrows the scan of a clustered collection, which then is a kClusteredScan, to what the filter,
// min and max leave of it.
void BoundByClusterKey(const QuerySpec& query, PlanNode* scan);

// The scan gives the order of the query's sort. REQUIRES: the query sorts.
bool IsInClusterOrder(const QuerySpec& query, const PlanNode& scan);

}  // namespace quire::plan
