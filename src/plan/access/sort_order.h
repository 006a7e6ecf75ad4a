// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plan/plan_node.h"
#include "plan/query.h"

namespace quire::plan {

// The order in which an index scan gives rows, against the query's sort.
enum class SortOrder { kNone, kForward, kBackward };

// REQUIRES: the query sorts; `scan` is an index scan.
SortOrder OrderOf(const QuerySpec& query, const PlanNode& scan);

bool Sorts(const QuerySpec& query);

}  // namespace quire::plan
