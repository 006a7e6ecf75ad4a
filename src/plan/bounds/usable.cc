// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "expr/match/geo.h"
#include "expr/match/leaf.h"
#include "plan/bounds/bounds.h"
#include "plan/bounds/wildcard.h"
#include "store/keys/index_kind.h"

namespace quire::plan {

namespace {

using bson::Value;
using expr::match::ComparisonNode;
using expr::match::InNode;
using expr::match::Kind;
using expr::match::Node;
using store::PartHolds;

bool HasStrings(const Value& value) {
  return value.is_string() || value.is_document() || value.is_array() ||
         value.type() == bson::Type::kSymbol;
}

// Whether the index orders what the predicate compares as the query does.
bool CollationFits(const Node& node, const IndexPart& part, const expr::Context& context) {
  const expr::Collator* own = part.index->collator.get();
  if (node.kind() == Kind::kRegex) {
    return own == nullptr;
  }
  if (SameCollation(own, context.collator)) {
    return node.kind() != Kind::kIn || own == nullptr ||
           static_cast<const InNode&>(node).regexes().empty();
  }
  switch (node.kind()) {
    case Kind::kEq:
    case Kind::kLt:
    case Kind::kLte:
    case Kind::kGt:
    case Kind::kGte:
      return !HasStrings(static_cast<const ComparisonNode&>(node).operand());
    case Kind::kIn: {
      const auto& in = static_cast<const InNode&>(node);
      return (in.regexes().empty() || own == nullptr) &&
             std::none_of(in.values().begin(), in.values().end(), HasStrings);
    }
    default:
      return true;
  }
}

// Parts that are no value of the document answer geo predicates and no others.
bool SpecialCanUse(const Node& node, const IndexPart& part) {
  if (node.kind() != Kind::kGeo) {
    return false;
  }
  const store::CellKind* cells = part.spec().kind->cells;
  return cells != nullptr &&
         cells->can_cover(static_cast<const expr::match::GeoNode&>(node).area());
}

// The index has no entry for a document without the part's field.
bool IsSparse(const IndexPart& part) {
  return part.index->sparse || part.index->keys.IsWildcard(part.part);
}

bool LeafCanUse(const Node& node, const IndexPart& part, const expr::Context& context) {
  if (IsSparse(part) && AsksForNull(node)) {
    return false;
  }
  if (part.index->keys.IsWildcard(part.part) && !WildcardCanUse(node)) {
    return false;
  }
  if (!CollationFits(node, part, context)) {
    return false;
  }
  if (part.holds() == PartHolds::kHash) {
    return node.kind() == Kind::kEq ||
           (node.kind() == Kind::kIn && static_cast<const InNode&>(node).regexes().empty());
  }
  switch (node.kind()) {
    case Kind::kLt:
    case Kind::kLte:
    case Kind::kGt:
    case Kind::kGte:
      return !static_cast<const ComparisonNode&>(node).operand().is_array();
    case Kind::kEq:
    case Kind::kIn:
    case Kind::kRegex:
    case Kind::kExists:
    case Kind::kMod:
    case Kind::kType:
    case Kind::kBitsAllSet:
    case Kind::kBitsAllClear:
    case Kind::kBitsAnySet:
    case Kind::kBitsAnyClear:
      return true;
    default:
      return false;
  }
}

bool HoldsArray(const Node& node) {
  if (node.kind() == Kind::kIn) {
    const auto& values = static_cast<const InNode&>(node).values();
    return std::any_of(values.begin(), values.end(), [](const Value& v) { return v.is_array(); });
  }
  return node.kind() == Kind::kEq && static_cast<const ComparisonNode&>(node).operand().is_array();
}

// What the bounds of a negation are made of must be exact.
bool NegationCanUse(const Node& child, const IndexPart& part, bool in_elem_match,
                    const expr::Context& context) {
  if (part.holds() == PartHolds::kHash || HoldsArray(child)) {
    return false;
  }
  if (part.multikey && AsksForNull(child) && !in_elem_match) {
    return false;
  }
  switch (child.kind()) {
    case Kind::kIn:
      if (!static_cast<const InNode&>(child).regexes().empty()) {
        return false;
      }
      break;
    case Kind::kEq:
    case Kind::kLt:
    case Kind::kLte:
    case Kind::kGt:
    case Kind::kGte:
      break;
    case Kind::kExists:
      return !IsSparse(part);
    default:
      return false;
  }
  if (IsSparse(part)) {
    // Only {$ne: null} leaves out what a sparse index leaves out.
    return AsksForNull(child) && CollationFits(child, part, context);
  }
  return LeafCanUse(child, part, context);
}

}  // namespace

bool CanUseIndex(const Node& predicate, const IndexPart& part, bool in_elem_match,
                 const expr::Context& context) {
  if (part.index->keys.special != nullptr) {
    const store::IndexKindRow* maker = store::MakerOf(part.index->keys);
    const bool value = part.holds() == PartHolds::kValue && maker != nullptr;
    if (!value || !maker->values_beside) {
      return SpecialCanUse(predicate, part);
    }
  }
  switch (predicate.kind()) {
    case Kind::kNot:
    case Kind::kNor:
      return predicate.children().size() == 1 &&
             NegationCanUse(*predicate.children()[0], part, in_elem_match, context);
    case Kind::kElemMatchValue:
      return std::all_of(
          predicate.children().begin(), predicate.children().end(),
          [&](const auto& child) { return CanUseIndex(*child, part, true, context); });
    default:
      return LeafCanUse(predicate, part, context);
  }
}

}  // namespace quire::plan
