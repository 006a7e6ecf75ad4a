// SPDX-License-Identifier: Apache-2.0
//
// Access for the two operators that need an index of their own kind: $text and $near.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "expr/match/node.h"
#include "plan/plan_node.h"
#include "plan/planner.h"

namespace quire::plan {

// Null when the filter has neither. Errors: IndexNotFound without a text index (or a geo index to
// guess), NoQueryExecutionPlans without an index that can answer, BadValue for $text with a hint or
// natural order, 16433 for a point outside of a 2d index.
Result<PlanNodePtr> SpecialAccess(const Query& query);

// What answers the $text of a query.
struct TextUse {
  const store::IndexInfo* index = nullptr;
  std::shared_ptr<const TextSearch> search;
  bool wants_score = false;
  bool collated = false;  // the query compares strings otherwise than the index
};

// The filter has a $text somewhere.
bool HasText(const expr::match::Filter& filter);
// $text is a member of the conjunction.
bool HasText(std::span<const expr::match::NodePtr> conjunction);

// Documents that the $text finds and that match the other members; null when the index is compound
// and the conjunction does not fix its first fields, or is partial and may lack documents. `known`
// is what the wanted documents are known to match.
PlanNodePtr TextAccess(const TextUse& text, std::span<const expr::match::NodePtr> conjunction,
                       const std::vector<expr::match::NodePtr>& known);

// The plan of a query with $near at the top. REQUIRES: query.collection.
Result<PlanNodePtr> NearAccess(const Query& query);

// Some part of the index's key is not a value of the document: text and geo indexes.
bool IsSpecialIndex(const store::IndexInfo& index);

}  // namespace quire::plan
