// SPDX-License-Identifier: Apache-2.0
#include "plan/bounds/subset.h"

#include <algorithm>

#include "bson/compare.h"
#include "expr/collation/collator.h"
#include "expr/match/leaf.h"

namespace quire::plan {

namespace {

using bson::Value;
using expr::match::ComparisonNode;
using expr::match::InNode;
using expr::match::Kind;
using expr::match::Node;
using expr::match::NodePtr;

bool IsComparison(const Node& node) {
  switch (node.kind()) {
    case Kind::kEq:
    case Kind::kLt:
    case Kind::kLte:
    case Kind::kGt:
    case Kind::kGte:
      return true;
    default:
      return false;
  }
}

// {path: value} implies the comparison.
bool ValueImplies(const Value& value, const ComparisonNode& wanted) {
  if (!bson::SameBracket(value.type(), wanted.operand().type())) {
    return false;
  }
  return expr::match::Satisfies(wanted.kind(),
                                bson::Compare(value, wanted.operand(), wanted.collator()));
}

bool ComparisonImplies(const ComparisonNode& known, const ComparisonNode& wanted) {
  if (known.kind() == Kind::kEq) {
    return ValueImplies(known.operand(), wanted);
  }
  bool upper = known.kind() == Kind::kLt || known.kind() == Kind::kLte;
  bool wants_upper = wanted.kind() == Kind::kLt || wanted.kind() == Kind::kLte;
  if (wanted.kind() == Kind::kEq || upper != wants_upper ||
      !bson::SameBracket(known.operand().type(), wanted.operand().type())) {
    return false;
  }
  int order = bson::Compare(known.operand(), wanted.operand(), wanted.collator());
  bool strict = known.kind() == Kind::kLt || known.kind() == Kind::kGt;
  bool wants_strict = wanted.kind() == Kind::kLt || wanted.kind() == Kind::kGt;
  if (order == 0) {
    return strict || !wants_strict;
  }
  return upper ? order < 0 : order > 0;
}

// Whether documents without the field are out.
bool ImpliesExists(const Node& known) {
  switch (known.kind()) {
    case Kind::kEq:
    case Kind::kLte:
    case Kind::kGte:
      return !static_cast<const ComparisonNode&>(known).operand().nullish();
    case Kind::kIn:
      return !static_cast<const InNode&>(known).has_null();
    case Kind::kLt:
    case Kind::kGt:
    case Kind::kExists:
    case Kind::kType:
    case Kind::kRegex:
    case Kind::kMod:
    case Kind::kSize:
    case Kind::kElemMatchObject:
    case Kind::kElemMatchValue:
      return true;
    case Kind::kNot: {
      const Node& child = *known.children()[0];
      return child.kind() == Kind::kEq &&
             static_cast<const ComparisonNode&>(child).operand().nullish();
    }
    default:
      return false;
  }
}

bool SameText(const Node& a, const Node& b) {
  return expr::match::Serialize(a).bytes() == expr::match::Serialize(b).bytes();
}

bool LeafImplies(const Node& known, const Node& wanted) {
  if (known.path() != wanted.path()) {
    return false;
  }
  if (wanted.kind() == Kind::kExists) {
    return ImpliesExists(known);
  }
  if (IsComparison(wanted)) {
    const auto& comparison = static_cast<const ComparisonNode&>(wanted);
    if (IsComparison(known)) {
      return ComparisonImplies(static_cast<const ComparisonNode&>(known), comparison);
    }
    if (known.kind() == Kind::kIn) {
      const auto& in = static_cast<const InNode&>(known);
      return in.regexes().empty() &&
             std::all_of(in.values().begin(), in.values().end(),
                         [&](const Value& value) { return ValueImplies(value, comparison); });
    }
    return false;
  }
  if (wanted.kind() == Kind::kIn) {
    const auto& set = static_cast<const InNode&>(wanted);
    auto holds = [&](const Value& value) {
      return std::any_of(set.values().begin(), set.values().end(),
                         [&](const Value& v) { return bson::Equal(v, value, set.collator()); });
    };
    if (known.kind() == Kind::kEq) {
      return holds(static_cast<const ComparisonNode&>(known).operand());
    }
    if (known.kind() == Kind::kIn) {
      const auto& in = static_cast<const InNode&>(known);
      return in.regexes().empty() && std::all_of(in.values().begin(), in.values().end(), holds);
    }
  }
  return SameText(known, wanted);
}

bool AllBranchesImply(const Node& alternatives, const Node& wanted) {
  return std::all_of(alternatives.children().begin(), alternatives.children().end(),
                     [&](const NodePtr& branch) {
                       return Implies({&branch, 1}, wanted);
                     });
}

}  // namespace

bool Implies(std::span<const NodePtr> known, const Node& wanted) {
  switch (wanted.kind()) {
    case Kind::kAlwaysTrue:
      return true;
    case Kind::kAnd:
      return std::all_of(wanted.children().begin(), wanted.children().end(),
                         [&](const NodePtr& member) { return Implies(known, *member); });
    case Kind::kOr:
      if (std::any_of(wanted.children().begin(), wanted.children().end(),
                      [&](const NodePtr& branch) { return Implies(known, *branch); })) {
        return true;
      }
      break;
    default:
      break;
  }
  return std::any_of(known.begin(), known.end(), [&](const NodePtr& node) {
    if (node->kind() == Kind::kOr) {
      return AllBranchesImply(*node, wanted);
    }
    return node->kind() == Kind::kAnd ? Implies(node->children(), wanted)
                                      : LeafImplies(*node, wanted);
  });
}

}  // namespace quire::plan
