// SPDX-License-Identifier: Apache-2.0
//
// Wildcard indexes as the planner sees them: for each path a query asks about, an index on the path
// itself, {"$_path": 1, "a.b": 1}.
#pragma once

#include <vector>

#include "plan/bounds/index_choice.h"
#include "plan/plan_node.h"
#include "plan/query.h"

namespace quire::plan {

// The choices with each wildcard index replaced by its forms for the paths of the query's filter.
// A compound one whose wildcard does not lead has a form without a path too.
std::vector<IndexChoice> ExpandWildcards(const QuerySpec& query, std::vector<IndexChoice> choices);

// Whether bounds of the wildcard's part can be made of the predicate: it holds values, no documents
// and no arrays, and nothing for a missing field.
bool WildcardCanUse(const expr::match::Node& predicate);

// Fills in the bounds of "$_path" for those of the value. True when they take in what lies below
// the path: then the value's are all, and only $exists is decided by the key.
bool SetPathBounds(const IndexChoice& choice, ScanBounds* bounds);

}  // namespace quire::plan
