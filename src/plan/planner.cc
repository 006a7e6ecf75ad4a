// SPDX-License-Identifier: Apache-2.0
#include "plan/planner.h"

#include "bson/number.h"
#include "plan/query_plan.h"

namespace quire::plan {

namespace {

// The value of {_id: value}, when the filter is just that and names no operator.
bson::Value SimpleId(const Query& query) {
  bson::View spec = query.filter_spec;
  if (spec.empty() || spec.size() != 4 + spec.front().raw().size() + 1) {
    return {};
  }
  bson::Element only = spec.front();
  if (only.name() != "_id") {
    return {};
  }
  switch (only.type()) {
    case bson::Type::kDocument: {
      bson::View value = only.value().AsDocument();
      bool is_operator = !value.empty() && value.front().name().starts_with('$');
      return is_operator ? bson::Value() : only.value();
    }
    case bson::Type::kArray:
    case bson::Type::kRegex:
    case bson::Type::kUndefined:
    case bson::Type::kNull:
      return {};
    default:
      return only.value();
  }
}

bool CanLookUpById(const Query& query) {
  return query.hint.missing() && query.min.empty() && query.max.empty() && query.skip == 0 &&
         !query.return_key && !query.tailable && query.context->collator == nullptr &&
         query.collection->collator == nullptr;
}

// The whole filter, not owned: the query outlives the plan.
std::shared_ptr<const expr::match::Filter> WholeFilter(const Query& query) {
  if (query.filter == nullptr || query.filter->trivial()) {
    return nullptr;
  }
  return {std::shared_ptr<const void>(), query.filter};
}

bool NaturalBackward(const Query& query) {
  if (!query.hint.is_document()) {
    return false;
  }
  bson::Value natural = query.hint.AsDocument()["$natural"];
  return natural.is_number() && bson::IsNegative(natural);
}

PlanNodePtr CollectionScanOf(const Query& query) {
  auto scan = std::make_unique<PlanNode>(StageKind::kCollectionScan);
  scan->filter = WholeFilter(query);
  if (NaturalBackward(query)) {
    scan->direction = kv::Direction::kBackward;
  }
  return scan;
}

// Everything above the access to the data: SORT, SKIP, projection, LIMIT.
PlanNodePtr Finish(const Query& query, PlanNodePtr root) {
  bool sorts = query.sort != nullptr && !query.sort->empty();
  if (sorts) {
    root = Over(StageKind::kSort, std::move(root));
    root->amount = query.limit > 0 ? query.limit + query.skip : 0;
  }
  if (query.skip > 0) {
    root = Over(StageKind::kSkip, std::move(root));
    root->amount = query.skip;
  }
  if (query.return_key) {
    root = Over(StageKind::kReturnKey, std::move(root));
  } else if (query.projection != nullptr || query.show_record_id) {
    root = Over(StageKind::kProjectionDefault, std::move(root));
  }
  if (query.limit > 0 && !sorts) {
    root = Over(StageKind::kLimit, std::move(root));
    root->amount = query.limit;
  }
  return root;
}

PlanNodePtr ChooseAccess(const Query& query) {
  if (CanLookUpById(query)) {
    bson::Value id = SimpleId(query);
    if (!id.missing()) {
      auto lookup = std::make_unique<PlanNode>(StageKind::kIdLookup);
      lookup->id = id;
      return lookup;
    }
  }
  return CollectionScanOf(query);
}

}  // namespace

Result<std::unique_ptr<Plan>> MakePlan(OpContext& op, const Query& query, store::Transaction&) {
  PlanNodePtr root;
  if (query.collection == nullptr) {
    root = std::make_unique<PlanNode>(StageKind::kEof);
  } else {
    root = Finish(query, ChooseAccess(query));
  }
  return std::unique_ptr<Plan>(
      std::make_unique<QueryPlan>(query, std::move(root), op.memory_limit));
}

}  // namespace quire::plan
