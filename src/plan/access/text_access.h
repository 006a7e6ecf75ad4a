// SPDX-License-Identifier: Apache-2.0
//
// Documents that a $text finds.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "expr/match/node.h"
#include "plan/plan_node.h"
#include "plan/query.h"

namespace quire::plan {

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

}  // namespace quire::plan
