// SPDX-License-Identifier: Apache-2.0
//
// Comparisons of a field with a constant inside $expr, for which an index can narrow the search:
// {$expr: {$gt: ["$a", 5]}}. They compare across types and do not look into arrays.
#pragma once

#include <string>
#include <vector>

#include "expr/match/node.h"
#include "plan/bounds/bounds.h"
#include "quire/bson.h"

namespace quire::plan {

struct ExprComparison {
  std::string path;
  expr::match::Kind op = expr::match::Kind::kEq;  // kEq, kLt, kLte, kGt or kGte
  bson::OwnedValue value;
};

// The comparisons that must hold for the $expr to be true: itself, or members of its $and.
std::vector<ExprComparison> ComparisonsOf(const expr::match::Node& node);

bool CanUseIndex(const ExprComparison& comparison, const IndexPart& part,
                 const expr::Context& context);
// REQUIRES: CanUseIndex. The document must always be asked.
FieldBounds BoundsOf(const ExprComparison& comparison, const IndexPart& part);

}  // namespace quire::plan
