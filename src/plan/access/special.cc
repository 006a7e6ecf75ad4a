// SPDX-License-Identifier: Apache-2.0
#include "plan/access/special.h"

#include <algorithm>

#include "base/error_codes.h"
#include "base/try.h"
#include "expr/asks_for_meta.h"
#include "expr/match/special.h"
#include "plan/access/candidates.h"
#include "plan/access/enumerate.h"
#include "plan/access/hint.h"
#include "plan/access/near_access.h"
#include "plan/access/planner_error.h"
#include "plan/access/text_access.h"
#include "plan/bounds/predicates.h"
#include "store/keys/special_keys.h"

namespace quire::plan {

namespace {

using expr::match::Kind;
using expr::match::Node;
using expr::match::TextNode;

const store::IndexInfo* TextIndex(const QuerySpec& query) {
  for (const auto& index : query.collection->indexes) {
    bool text = std::any_of(index->keys.parts.begin(), index->keys.parts.end(),
                            [](const auto& part) { return part.kind == &store::kTextKind; });
    if (text) {
      return index.get();
    }
  }
  return nullptr;
}

bool WantsScore(const QuerySpec& query) {
  if (query.count_only) {
    return false;
  }
  return query.wants_text_score || expr::AsksForMeta(bson::Value(query.sort_spec), "textScore") ||
         expr::AsksForMeta(bson::Value(query.projection_spec), "textScore");
}

Result<PlanNodePtr> AnswerText(const QuerySpec& query, const TextNode& node) {
  if (NaturalHint(query) != 0) {
    return Status(kBadValue, "text expression not allowed with $natural sort order");
  }
  if (!query.hint.missing() && !(query.hint.is_document() && query.hint.AsDocument().empty())) {
    return Status(kBadValue, "text and hint not allowed in same query");
  }
  TextUse use;
  use.index = query.collection == nullptr ? nullptr : TextIndex(query);
  if (use.index == nullptr) {
    return Status(kIndexNotFound, "text index required for $text query");
  }
  if (use.index->hidden) {
    return PlannerError(kNoQueryExecutionPlans, query,
                        "failed to use text index to satisfy $text query: it is hidden");
  }
  auto search = std::make_shared<TextSearch>();
  search->spec = expr::text::IndexSpec::FromIndex(use.index->spec);
  ASSIGN_OR_RETURN(search->query,
                   expr::text::Query::Parse(node.options(), search->spec.default_language));
  use.search = std::move(search);
  use.wants_score = WantsScore(query);
  use.collated = query.context->collator != nullptr;
  ASSIGN_OR_RETURN(std::vector<IndexChoice> indexes, UsableIndexes(query));
  Enumerator enumerator(query, indexes);
  enumerator.AnswerText(&use);
  for (PlanNodePtr& access : enumerator.Access(query.filter->shared_root())) {
    if (FindNode(*access, NodeKind::kTextMatch) != nullptr) {
      return std::move(access);
    }
  }
  if (FirstOfKind(query.filter->root(), Kind::kOr) != nullptr) {
    return PlannerError(
        kNoQueryExecutionPlans, query,
        "Failed to produce a solution for TEXT under OR with other non-TEXT clauses");
  }
  return PlannerError(
      kNoQueryExecutionPlans, query,
      "failed to use text index to satisfy $text query (if text index is compound, are "
      "equality predicates given for all prefix fields?)");
}

}  // namespace

Result<PlanNodePtr> SpecialAccess(const QuerySpec& query) {
  if (query.filter == nullptr) {
    return PlanNodePtr();
  }
  if (const Node* text = FirstOfKind(query.filter->root(), Kind::kText)) {
    return AnswerText(query, static_cast<const TextNode&>(*text));
  }
  const Node* near = FirstOfKind(query.filter->root(), Kind::kGeoNear);
  if (near != nullptr && NaturalHint(query) != 0) {
    return Status(kBadValue, "geoNear expression not allowed with a $natural order or hint");
  }
  if (near != nullptr && query.collection != nullptr) {
    return NearAccess(query);
  }
  return PlanNodePtr();
}

}  // namespace quire::plan
