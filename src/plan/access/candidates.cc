// SPDX-License-Identifier: Apache-2.0
#include "plan/access/candidates.h"

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/compare.h"
#include "bson/number.h"
#include "plan/access/arrange.h"
#include "plan/access/clustered_scan.h"
#include "plan/access/enumerate.h"
#include "plan/access/hint.h"
#include "plan/access/planner_error.h"
#include "plan/access/sort_order.h"
#include "plan/bounds/bounds.h"
#include "plan/bounds/subset.h"
#include "plan/bounds/wildcard.h"
#include "plan/plan_cache.h"
#include "store/keys/multikey.h"

namespace quire::plan {

namespace {

bool HasHint(const QuerySpec& query) {
  return query.hint.is_string() ||
         (query.hint.is_document() && !query.hint.AsDocument().empty() && NaturalHint(query) == 0);
}

bool Allows(bson::View names_and_patterns, const store::IndexInfo& index) {
  for (const bson::Element& allowed : names_and_patterns) {
    bson::Value value = allowed.value();
    if (value.is_string() ? value.AsString() == index.name
                          : value.is_document() && bson::CompareDocuments(value.AsDocument(),
                                                                          index.key_pattern) == 0) {
      return true;
    }
  }
  return false;
}

IndexChoice ChoiceOf(const store::IndexInfo& index) {
  return {&index, index.state->multikey_steps.load(std::memory_order_relaxed)};
}

Status NoSolutions(const QuerySpec& query) {
  return PlannerError(kNoQueryExecutionPlans, query, "No query solutions");
}

bool Trivial(const QuerySpec& query) { return query.filter == nullptr || query.filter->trivial(); }

std::vector<expr::match::NodePtr> Known(const QuerySpec& query) {
  if (Trivial(query)) {
    return {};
  }
  return {query.filter->shared_root()};
}

// The index holds every document the query asks for.
bool HoldsAll(const QuerySpec& query, const store::IndexInfo& index) {
  return !index.sparse && !IsSpecialIndex(index) &&
         (index.partial_filter == nullptr || Implies(Known(query), index.partial_filter->root()));
}

// An index that gives the order of the sort, read from end to end.
void AddSortedScans(const QuerySpec& query, const std::vector<IndexChoice>& indexes,
                    const Enumerator& enumerator, std::vector<PlanNodePtr>* plans) {
  for (const IndexChoice& choice : indexes) {
    if (choice.info->keys.wildcard != nullptr ||
        (!HoldsAll(query, *choice.info) && !HasHint(query))) {
      continue;
    }
    PlanNodePtr scan = enumerator.WholeIndex(choice, false);
    const PlanNode& bare =
        scan->kind == NodeKind::kFetch ? *scan->inputs[0] : static_cast<const PlanNode&>(*scan);
    if (OrderOf(query, bare) != SortOrder::kNone) {
      bool blocking = false;
      plans->push_back(Arrange(query, std::move(scan), &blocking));
    }
  }
}

std::vector<IndexChoice> ChoicesAmong(const QuerySpec& query, bson::View names_and_patterns) {
  std::vector<IndexChoice> found;
  for (const auto& index : query.collection->indexes) {
    if (!index->hidden && !IsClusterKey(query, *index) && Allows(names_and_patterns, *index)) {
      found.push_back(ChoiceOf(*index));
    }
  }
  return ExpandWildcards(query, std::move(found));
}

}  // namespace

Result<std::vector<IndexChoice>> UsableIndexes(const QuerySpec& query) {
  std::vector<IndexChoice> found;
  PlanMemory& memory = PlanMemory::Of(*query.collection);
  auto filter = memory.has_filters() ? memory.FindFilter(ShapeOf(query).query_hash) : std::nullopt;
  if (filter.has_value()) {
    // What an administrator allows goes before the hint.
    return ChoicesAmong(query, filter->indexes);
  }
  if (HintsClusterKey(query)) {
    return found;
  }
  bool hinted = HasHint(query);
  for (const auto& index : query.collection->indexes) {
    const bool visible = !index->hidden || (hinted && query.hint_hidden);
    if (visible && !IsClusterKey(query, *index) && (!hinted || HintNames(query, *index))) {
      found.push_back(ChoiceOf(*index));
    }
  }
  if (hinted && found.empty()) {
    return PlannerError(kBadValue, query, "hint provided does not correspond to an existing index");
  }
  if (!query.min.empty() || !query.max.empty()) {
    return found;
  }
  found = ExpandWildcards(query, std::move(found));
  if (hinted && found.empty()) {
    return NoSolutions(query);
  }
  return found;
}

std::vector<IndexChoice> AllowedIndexes(const QuerySpec& query) {
  return ChoicesAmong(query, query.allowed_indexes);
}

PlanNodePtr CollectionScanOf(const QuerySpec& query) {
  auto scan = std::make_unique<PlanNode>(NodeKind::kCollectionScan);
  if (!Trivial(query)) {
    scan->filter = {std::shared_ptr<const void>(), query.filter};
  }
  scan->backward = NaturalHint(query) < 0;
  if (query.collection->clustered) {
    if (query.hint.missing()) {
      scan->backward = ClusterKeyDirection(query) < 0;
    }
    BoundByClusterKey(query, scan.get());
  }
  return scan;
}

Result<std::vector<PlanNodePtr>> MakeCandidates(const QuerySpec& query,
                                                const std::vector<IndexChoice>& indexes) {
  std::vector<PlanNodePtr> plans;
  bool blocking = false;
  if (!query.min.empty() || !query.max.empty()) {
    ASSIGN_OR_RETURN(PlanNodePtr scan, MinMaxScan(query, indexes));
    plans.push_back(Arrange(query, std::move(scan), &blocking));
    return plans;
  }
  if (NaturalHint(query) != 0 || query.tailable || HintsClusterKey(query)) {
    plans.push_back(Arrange(query, CollectionScanOf(query), &blocking));
    return plans;
  }
  Enumerator enumerator(query, indexes);
  bool sorted = false;
  if (!Trivial(query)) {
    for (PlanNodePtr& access : enumerator.Access(query.filter->shared_root())) {
      if (!query.distinct_path.empty()) {
        PlanNodePtr distinct = DistinctPlan(query, indexes, access->Clone());
        if (distinct != nullptr) {
          plans.clear();
          plans.push_back(std::move(distinct));
          return plans;
        }
      }
      plans.push_back(Arrange(query, std::move(access), &blocking));
      sorted = sorted || !blocking;
    }
  } else if (!query.distinct_path.empty()) {
    if (PlanNodePtr distinct = DistinctPlan(query, indexes, nullptr)) {
      plans.push_back(std::move(distinct));
      return plans;
    }
  }
  if (Sorts(query) && !sorted) {
    AddSortedScans(query, indexes, enumerator, &plans);
  }
  if (plans.empty() && HasHint(query)) {
    for (const IndexChoice& choice : indexes) {
      if (choice.info->keys.wildcard == nullptr) {
        plans.push_back(Arrange(query, enumerator.WholeIndex(choice, false), &blocking));
      }
    }
    if (plans.empty()) {
      return NoSolutions(query);
    }
  }
  if (plans.empty() || (query.collection->clustered && !HasHint(query))) {
    PlanNodePtr scan = CollectionScanOf(query);
    if (plans.empty() || scan->kind == NodeKind::kClusteredScan ||
        ClusterKeyDirection(query) != 0) {
      plans.push_back(Arrange(query, std::move(scan), &blocking));
    }
  }
  return plans;
}

}  // namespace quire::plan
