// SPDX-License-Identifier: Apache-2.0
#include "plan/access/id_lookup.h"

#include "plan/access/arrange.h"
#include "plan/bounds/bounds.h"

namespace quire::plan {

bson::Value SimpleId(bson::View spec) {
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

PlanNodePtr IdLookupPlan(const QuerySpec& query) {
  bool plain = !query.collection->clustered && query.hint.missing() && query.min.empty() &&
               query.max.empty() && query.skip == 0 && !query.return_key && !query.tailable &&
               query.distinct_path.empty() && query.context->collator == nullptr &&
               query.collection->collator == nullptr;
  bson::Value id = plain ? SimpleId(query.filter_spec) : bson::Value();
  if (id.missing()) {
    return nullptr;
  }
  auto lookup = std::make_unique<PlanNode>(NodeKind::kIdLookup);
  lookup->id = id;
  if (query.ownership != nullptr) {
    lookup = Over(NodeKind::kShardingFilter, std::move(lookup));
  }
  if (query.count_only) {
    PlanNodePtr count = Over(NodeKind::kCount, std::move(lookup));
    count->amount = query.limit;
    return count;
  }
  if (query.projection == nullptr && !query.show_record_id) {
    return lookup;
  }
  return Over(ProjectionKind(query), std::move(lookup));
}

}  // namespace quire::plan
