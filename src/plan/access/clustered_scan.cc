// SPDX-License-Identifier: Apache-2.0
#include "plan/access/clustered_scan.h"

#include <limits>
#include <utility>

#include "bson/compare.h"
#include "expr/match/leaf.h"
#include "plan/access/hint.h"
#include "plan/access/planner_error.h"
#include "plan/access/sort_order.h"
#include "plan/bounds/bounds.h"
#include "plan/bounds/predicates.h"
#include "plan/bounds/type_range.h"

namespace quire::plan {

namespace {

using bson::OwnedValue;
using bson::Value;
using expr::match::ComparisonNode;
using expr::match::InNode;
using expr::match::Kind;
using expr::match::Node;

bool IsCollatable(const Value& value) {
  return value.is_string() || value.is_document() || value.is_array() ||
         value.type() == bson::Type::kSymbol;
}

const store::IndexInfo& ClusterKey(const QuerySpec& query) {
  return *query.collection->indexes.front();
}

bool CollationMatches(const QuerySpec& query) {
  return SameCollation(ClusterKey(query).collator.get(), query.context->collator);
}

// The query and the clustered index put the value at the same place.
bool Placed(const QuerySpec& query, const Value& value) {
  return CollationMatches(query) || !IsCollatable(value);
}

void RaiseMin(OwnedValue value, RecordRange* range) {
  if (!range->min.has_value() || bson::Compare(value.value(), range->min->value()) > 0) {
    range->min = std::move(value);
  }
}

void LowerMax(OwnedValue value, RecordRange* range) {
  if (!range->max.has_value() || bson::Compare(value.value(), range->max->value()) < 0) {
    range->max = std::move(value);
  }
}

// The first value of a type's bracket: of numbers NaN, which no comparison reaches.
OwnedValue FirstOfBracket(bson::Type type) {
  OwnedValue low = LowEndFor(type).value;
  return low.value().is_number() ? OwnedValue(Value(std::numeric_limits<double>::quiet_NaN()))
                                 : std::move(low);
}

// Comparisons stay within the bracket of their operand's type, except those with the ends of the
// order.
bool IsBracketed(const Value& operand) {
  return operand.type() != bson::Type::kMinKey && operand.type() != bson::Type::kMaxKey;
}

// Narrows *range to what a comparison can find. True: only values whose place does not depend on
// the query's collation.
bool Compare(const QuerySpec& query, const ComparisonNode& node, RecordRange* range) {
  const Value& operand = node.operand();
  if (IsBracketed(operand)) {
    RaiseMin(FirstOfBracket(operand.type()), range);
    LowerMax(HighEndFor(operand.type()).value, range);
  }
  if (!Placed(query, operand)) {
    return false;
  }
  OwnedValue stored = AsStored(operand, ClusterKey(query).collator.get());
  if (node.kind() == Kind::kEq || node.kind() == Kind::kGt || node.kind() == Kind::kGte) {
    RaiseMin(stored, range);
  }
  if (node.kind() == Kind::kEq || node.kind() == Kind::kLt || node.kind() == Kind::kLte) {
    LowerMax(std::move(stored), range);
  }
  return IsBracketed(operand) || node.kind() == Kind::kEq;
}

// The same for $in: from the first of its values to the last.
bool Among(const QuerySpec& query, const InNode& node, RecordRange* range) {
  if (!node.regexes().empty() || node.values().empty()) {
    return false;
  }
  bool placed = true;
  std::optional<OwnedValue> first;
  std::optional<OwnedValue> last;
  for (const Value& value : node.values()) {
    OwnedValue low = AsStored(value, ClusterKey(query).collator.get());
    OwnedValue high = low;
    if (!Placed(query, value)) {
      placed = false;
      low = FirstOfBracket(value.type());
      high = HighEndFor(value.type()).value;
    }
    if (!first.has_value() || bson::Compare(low.value(), first->value()) < 0) {
      first = std::move(low);
    }
    if (!last.has_value() || bson::Compare(high.value(), last->value()) > 0) {
      last = std::move(high);
    }
  }
  RaiseMin(*std::move(first), range);
  LowerMax(*std::move(last), range);
  return placed;
}

bool Narrow(const QuerySpec& query, const Node& node, RecordRange* range) {
  switch (node.kind()) {
    case Kind::kEq:
    case Kind::kLt:
    case Kind::kLte:
    case Kind::kGt:
    case Kind::kGte:
      return Compare(query, static_cast<const ComparisonNode&>(node), range);
    case Kind::kIn:
      return Among(query, static_cast<const InNode&>(node), range);
    default:
      return false;
  }
}

void NarrowByMinMax(const QuerySpec& query, RecordRange* range) {
  const expr::Collator* collator = ClusterKey(query).collator.get();
  if (!query.max.empty()) {
    LowerMax(AsStored(query.max.front().value(), collator), range);
    range->max_inclusive = false;
  }
  if (!query.min.empty()) {
    RaiseMin(AsStored(query.min.front().value(), collator), range);
  }
}

}  // namespace

bool IsClusterKey(const QuerySpec& query, const store::IndexInfo& index) {
  return query.collection->clustered && &index == query.collection->indexes.front().get();
}

bool HintsClusterKey(const QuerySpec& query) {
  return query.collection->clustered && HintNames(query, ClusterKey(query));
}

Status CheckClusterKeyRange(const QuerySpec& query) {
  auto fits = [&](bson::View key) {
    return key.empty() || (key.Count() == 1 && key.front().name() == "_id");
  };
  if (!fits(query.min) || !fits(query.max)) {
    return PlannerError(51174, query,
                        "The index specified by the hint is not compatible with min()/max()");
  }
  auto placed = [&](bson::View key) { return key.empty() || Placed(query, key.front().value()); };
  if (!placed(query.min) || !placed(query.max)) {
    return PlannerError(6137400, query,
                        "The query's collation does not order min()/max() as the clustered index");
  }
  if (query.min.empty() || query.max.empty()) {
    return Status::Ok();
  }
  const expr::Collator* collator = ClusterKey(query).collator.get();
  OwnedValue min = AsStored(query.min.front().value(), collator);
  OwnedValue max = AsStored(query.max.front().value(), collator);
  if (bson::Compare(min.value(), max.value()) >= 0) {
    return PlannerError(6137401, query, "max() must be greater than min()");
  }
  return Status::Ok();
}

int ClusterKeyDirection(const QuerySpec& query) {
  if (!query.collection->clustered || !Sorts(query) || query.sort->parts().size() != 1 ||
      !CollationMatches(query)) {
    return 0;
  }
  const auto& only = query.sort->parts().front();
  if (!only.meta.empty() || only.path != "_id") {
    return 0;
  }
  return only.ascending ? 1 : -1;
}

void BoundByClusterKey(const QuerySpec& query, PlanNode* scan) {
  scan->in_id_order = CollationMatches(query);
  if (query.filter != nullptr) {
    for (const Predicate& predicate : CollectPredicates({&query.filter->shared_root(), 1})) {
      if (predicate.path == "_id" && predicate.comparison == nullptr && predicate.scopes.empty() &&
          Narrow(query, *predicate.node, &scan->range)) {
        scan->in_id_order = true;
      }
    }
  }
  NarrowByMinMax(query, &scan->range);
  if (scan->range.min.has_value() || scan->range.max.has_value()) {
    scan->kind = NodeKind::kClusteredScan;
  }
}

bool IsInClusterOrder(const QuerySpec& query, const PlanNode& scan) {
  if ((scan.kind != NodeKind::kCollectionScan && scan.kind != NodeKind::kClusteredScan) ||
      !scan.in_id_order || query.sort->parts().size() != 1) {
    return false;
  }
  const auto& only = query.sort->parts().front();
  return only.meta.empty() && only.path == "_id" && only.ascending != scan.backward;
}

}  // namespace quire::plan
