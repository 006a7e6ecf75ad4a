// SPDX-License-Identifier: Apache-2.0
//
// The predicates of a conjunction that indexes can answer.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "expr/match/node.h"
#include "plan/bounds/expr_comparison.h"

namespace quire::plan {

// An $elemMatch that a predicate stands in.
struct ElemMatchScope {
  const expr::match::Node* node;
  std::string path;  // from the top of the document
};

struct Predicate {
  const expr::match::Node* node = nullptr;
  std::string path;                    // from the top of the document
  std::vector<ElemMatchScope> scopes;  // outermost first
  size_t child = 0;                    // the member of the conjunction it belongs to
  bool outside = false;                // holds here, but belongs to a conjunction further up
  // Set when `node` is an $expr: the comparison in it that is meant.
  std::shared_ptr<const ExprComparison> comparison = nullptr;

  // The $elemMatch on exactly that path; null when it stands in none.
  const expr::match::Node* ScopeAt(std::string_view prefix) const;
};

// Whether bounds of the part can be made of the predicate, and those bounds.
bool CanUseIndex(const Predicate& predicate, const IndexPart& part, const expr::Context& context);
FieldBounds BoundsOf(const Predicate& predicate, const IndexPart& part);

// Members of $elemMatch's document form are given with their full paths; $or is left out.
std::vector<Predicate> CollectPredicates(std::span<const expr::match::NodePtr> conjunction);

// The first node of that kind; null when there is none.
const expr::match::Node* FirstOfKind(const expr::match::Node& node, expr::match::Kind kind);

// The conjunction as a filter; null for an empty one.
std::shared_ptr<const expr::match::Filter> Conjunction(std::vector<expr::match::NodePtr> members);

}  // namespace quire::plan
