// SPDX-License-Identifier: Apache-2.0
//
// Scans that answer what is not a filter: min and max, distinct.
#include "base/error_codes.h"
#include "base/try.h"
#include "plan/access/arrange.h"
#include "plan/access/candidates.h"
#include "plan/access/clustered_scan.h"
#include "plan/access/enumerate.h"
#include "plan/access/hint.h"
#include "plan/access/planner_error.h"
#include "plan/bounds/bounds.h"
#include "store/keys/index_kind.h"
#include "store/keys/multikey.h"

namespace quire::plan {

namespace {

// Whether the names of `key` are those of the index, in order.
bool NamesMatch(bson::View key, bson::View pattern) {
  auto wanted = pattern.begin();
  for (const bson::Element& element : key) {
    if (wanted == pattern.end() || wanted->name() != element.name()) {
      return false;
    }
    ++wanted;
  }
  return wanted == pattern.end();
}

bson::Document StoredKey(bson::View key, const expr::Collator* collator) {
  bson::Builder out;
  for (const bson::Element& element : key) {
    bson::OwnedValue stored = AsStored(element.value(), collator);
    out.Append(element.name(), stored.value());
  }
  return out.Finish();
}

// The part of the index that has the path, when all parts before it are fixed to a point or the
// path leads the index.
std::optional<size_t> DistinctPart(const PlanNode& scan, const std::string& path) {
  const store::IndexKeySpec& spec = scan.index->keys;
  for (size_t part = 0; part < spec.parts.size(); ++part) {
    if (spec.parts[part].path == path) {
      bool one_path = !spec.IsWildcard(part) || scan.bounds.parts[spec.path_part].IsPoint();
      bool usable = one_path && spec.parts[part].kind->holds == store::PartHolds::kValue &&
                    !store::IsMultikey(spec, scan.multikey, part) &&
                    scan.index->collator == nullptr && spec.special == nullptr;
      return usable ? std::optional<size_t>(part) : std::nullopt;
    }
  }
  return std::nullopt;
}

PlanNodePtr ShortestLedBy(const QuerySpec& query, const std::vector<IndexChoice>& indexes) {
  const IndexChoice* best = nullptr;
  for (const IndexChoice& choice : indexes) {
    const auto& parts = choice.info->keys.parts;
    if (parts[0].path == query.distinct_path && !choice.info->sparse &&
        choice.info->keys.special == nullptr && choice.info->keys.wildcard == nullptr &&
        choice.info->partial_filter == nullptr &&
        (best == nullptr || parts.size() < best->info->keys.parts.size())) {
      best = &choice;
    }
  }
  return best == nullptr ? nullptr : Enumerator(query, indexes).WholeIndex(*best, false);
}

}  // namespace

Result<PlanNodePtr> MinMaxScan(const QuerySpec& query, const std::vector<IndexChoice>& indexes) {
  if (NaturalHint(query) != 0) {
    return PlannerError(kNoQueryExecutionPlans, query,
                        "min and max are incompatible with $natural");
  }
  if (query.hint.missing() || (query.hint.is_document() && query.hint.AsDocument().empty())) {
    return PlannerError(51173, query,
                        "When using min()/max() a hint of which index to use must be provided");
  }
  if (HintsClusterKey(query)) {
    RETURN_IF_ERROR(CheckClusterKeyRange(query));
    return CollectionScanOf(query);
  }
  const IndexChoice& choice = indexes.front();
  const store::IndexInfo& index = *choice.info;
  bool fits = (query.min.empty() || NamesMatch(query.min, index.key_pattern)) &&
              (query.max.empty() || NamesMatch(query.max, index.key_pattern));
  for (const auto& part : index.keys.parts) {
    fits = fits && part.kind == &store::kOrderedKind;
  }
  if (!fits) {
    return PlannerError(51174, query,
                        "The index specified by the hint is not compatible with min()/max()");
  }
  auto scan = std::make_unique<PlanNode>(NodeKind::kIndexScan);
  scan->index = &index;
  scan->multikey = choice.multikey;
  scan->bounds.range = true;
  scan->bounds.min = StoredKey(query.min, index.collator.get());
  scan->bounds.max = StoredKey(query.max, index.collator.get());
  if (!query.min.empty() && !query.max.empty() &&
      store::EncodeKey(index.keys, scan->bounds.min).bytes >=
          store::EncodeKey(index.keys, scan->bounds.max).bytes) {
    return PlannerError(51175, query,
                        "The value provided for min() does not come before the value provided "
                        "for max() in the hinted index");
  }
  if (query.filter == nullptr || query.filter->trivial()) {
    return scan;
  }
  PlanNodePtr fetch = Over(NodeKind::kFetch, std::move(scan));
  fetch->filter = {std::shared_ptr<const void>(), query.filter};
  return fetch;
}

PlanNodePtr DistinctPlan(const QuerySpec& query, const std::vector<IndexChoice>& indexes,
                         PlanNodePtr access) {
  if (access == nullptr) {
    access = ShortestLedBy(query, indexes);
  }
  if (access == nullptr || access->kind != NodeKind::kIndexScan || access->filter != nullptr) {
    return nullptr;
  }
  std::optional<size_t> part = DistinctPart(*access, query.distinct_path);
  if (!part.has_value()) {
    return nullptr;
  }
  access->kind = NodeKind::kDistinctScan;
  access->distinct_part = *part;
  access->needs_key = true;
  return Over(NodeKind::kProjectionCovered, std::move(access));
}

}  // namespace quire::plan
