// SPDX-License-Identifier: Apache-2.0
#include "plan/access/arrange.h"

#include <algorithm>
#include <set>

#include "plan/access/clustered_scan.h"
#include "plan/access/sort_order.h"
#include "plan/bounds/bounds.h"
#include "store/keys/index_kind.h"
#include "store/keys/multikey.h"

namespace quire::plan {

namespace {

constexpr size_t kMostExplodedScans = 200;

PlanNodePtr Fetched(PlanNodePtr root) {
  return root->Fetched() ? std::move(root) : Over(NodeKind::kFetch, std::move(root));
}

// What gives the rows of a shard's filter; the node itself where there is none.
PlanNode& Unfiltered(PlanNode& access) {
  return access.kind == NodeKind::kShardingFilter ? *access.inputs[0] : access;
}

// The scan under an optional fetch; null when it is something else.
PlanNode* ScanOf(PlanNode& access) {
  PlanNode* node = &Unfiltered(access);
  if (node->kind == NodeKind::kFetch) {
    node = node->inputs[0].get();
  }
  return node->kind == NodeKind::kIndexScan ? node : nullptr;
}

// Turns the scan so that it gives rows in the order of the query's sort. False: it cannot.
bool TurnToSort(const QuerySpec& query, PlanNode& access) {
  PlanNode* scan = ScanOf(access);
  if (scan == nullptr) {
    return IsInClusterOrder(query, Unfiltered(access));
  }
  SortOrder order = OrderOf(query, *scan);
  if (order == SortOrder::kNone) {
    return false;
  }
  scan->backward = order == SortOrder::kBackward;
  return true;
}

// A scan over several points of its first parts, taken apart into one scan per combination, each
// of which is sorted. Empty when that does not help.
std::vector<PlanNodePtr> Explode(const QuerySpec& query, const PlanNode& access) {
  PlanNodePtr model = access.Clone();
  PlanNode* scan = ScanOf(*model);
  if (scan == nullptr || scan->bounds.range) {
    return {};
  }
  const auto lists = scan->bounds.parts;
  size_t points = 0;
  size_t scans = 1;
  while (points < lists.size() && lists[points].IsPoints()) {
    scans *= lists[points++].intervals().size();
    if (scans > kMostExplodedScans) {
      return {};
    }
  }
  if (scans < 2) {
    return {};
  }
  std::vector<PlanNodePtr> exploded;
  for (size_t number = 0; number < scans; ++number) {
    size_t rest = number;
    for (size_t part = points; part-- > 0;) {
      const auto& intervals = lists[part].intervals();
      scan->bounds.parts[part] = IntervalList(intervals[rest % intervals.size()]);
      rest /= intervals.size();
    }
    if (!TurnToSort(query, *model)) {
      return {};
    }
    exploded.push_back(model->Clone());
  }
  if (scan->backward) {
    std::reverse(exploded.begin(), exploded.end());
  }
  return exploded;
}

PlanNodePtr MergeOf(std::vector<PlanNodePtr> inputs) {
  auto merge = std::make_unique<PlanNode>(NodeKind::kSortMerge);
  merge->inputs = std::move(inputs);
  return merge;
}

// Above whatever knows the shard key.
PlanNodePtr FilterForShard(const QuerySpec& query, PlanNodePtr access) {
  const std::vector<std::string>& paths = query.ownership->paths();
  if (!std::all_of(paths.begin(), paths.end(),
                   [&](const std::string& path) { return Provides(*access, path); })) {
    access = Fetched(std::move(access));
  }
  return Over(NodeKind::kShardingFilter, std::move(access));
}

// Sorted access without sorting; null when there is none (then *access is as it was).
PlanNodePtr SortedByIndex(const QuerySpec& query, PlanNodePtr* access) {
  PlanNode& root = **access;
  if (TurnToSort(query, root)) {
    return std::move(*access);
  }
  const bool filtered = root.kind == NodeKind::kShardingFilter;
  std::vector<PlanNodePtr> inputs = Explode(query, Unfiltered(root));
  if (!inputs.empty()) {
    PlanNodePtr sorted = MergeOf(std::move(inputs));
    return filtered ? FilterForShard(query, std::move(sorted)) : std::move(sorted);
  }
  // A fetch of the branches of $or with a filter sorts as they do.
  PlanNode* above = &Unfiltered(root);
  PlanNode* branches = above;
  if (above->kind == NodeKind::kFetch && above->inputs[0]->kind == NodeKind::kOr) {
    branches = above->inputs[0].get();
  }
  if (branches->kind != NodeKind::kOr) {
    return nullptr;
  }
  for (const auto& branch : branches->inputs) {
    PlanNodePtr copy = branch->Clone();
    if (TurnToSort(query, *copy)) {
      inputs.push_back(std::move(copy));
      continue;
    }
    std::vector<PlanNodePtr> parts = Explode(query, *branch);
    if (parts.empty() || inputs.size() + parts.size() > kMostExplodedScans) {
      return nullptr;
    }
    std::move(parts.begin(), parts.end(), std::back_inserter(inputs));
  }
  // Rows are merged by what they show: all documents or all keys.
  bool mixed = std::any_of(inputs.begin(), inputs.end(), [&](const PlanNodePtr& input) {
    return input->Fetched() != inputs[0]->Fetched();
  });
  if (mixed) {
    for (PlanNodePtr& input : inputs) {
      input = Fetched(std::move(input));
    }
  }
  PlanNodePtr sorted = MergeOf(std::move(inputs));
  if (branches != above) {
    sorted = Over(NodeKind::kFetch, std::move(sorted));
    sorted->filter = above->filter;
  }
  return filtered ? FilterForShard(query, std::move(sorted)) : std::move(sorted);
}

bool SortIsCovered(const QuerySpec& query, const PlanNode& root) {
  return std::all_of(query.sort->parts().begin(), query.sort->parts().end(), [&](const auto& part) {
    return part.meta.empty() && Provides(root, part.path);
  });
}

PlanNodePtr AddSort(const QuerySpec& query, PlanNodePtr root, bool* blocking) {
  if (!Sorts(query)) {
    return root;
  }
  if (PlanNodePtr sorted = SortedByIndex(query, &root)) {
    if (!query.wants_sort_key) {
      return sorted;
    }
    // Not below a fetch, which takes in rows ahead: a key is valid until the next row.
    return Over(NodeKind::kSortKeys, Fetched(std::move(sorted)));
  }
  *blocking = true;
  if (!root->Fetched() && (query.wants_sort_key || !SortIsCovered(query, *root))) {
    root = Over(NodeKind::kFetch, std::move(root));
  }
  root = Over(NodeKind::kSort, std::move(root));
  root->amount = query.limit > 0 ? query.limit + query.skip : 0;
  return root;
}

// What the projection needs, and how explain calls it.
struct ProjectionNeeds {
  bool simple = false;  // only whole top-level fields are kept
  bool any = true;      // it may read the whole document
  std::set<std::string> fields;
};

ProjectionNeeds NeedsOf(const QuerySpec& query) {
  ProjectionNeeds needs;
  if (query.show_record_id || query.projection == nullptr) {
    return needs;
  }
  if (query.projection->PlainInclusion(&needs.fields)) {
    needs.any = false;
    needs.simple = std::none_of(needs.fields.begin(), needs.fields.end(), [](const auto& path) {
      return path.find('.') != std::string::npos;
    });
  } else {
    needs.fields.clear();
    needs.any =
        query.projection->is_exclusion() || !query.projection->AddDependencies(&needs.fields);
  }
  return needs;
}

// A projection that keeps what is sorted by runs before the sort: fewer bytes to sort.
bool BelongsBelowSort(const QuerySpec& query, const ProjectionNeeds& needs, const PlanNode& sort) {
  return needs.simple && sort.kind == NodeKind::kSort && sort.amount == 0 &&
         std::all_of(query.sort->parts().begin(), query.sort->parts().end(), [&](const auto& part) {
           std::string top = part.path.substr(0, part.path.find('.'));
           return part.meta.empty() && needs.fields.count(top) > 0;
         });
}

PlanNodePtr AddProjection(const QuerySpec& query, PlanNodePtr root) {
  ProjectionNeeds needs = NeedsOf(query);
  bool covered = !root->Fetched() && !needs.any &&
                 std::all_of(needs.fields.begin(), needs.fields.end(),
                             [&](const auto& path) { return Provides(*root, path); });
  NodeKind kind = NodeKind::kProjectionDefault;
  if (covered && needs.simple && FindNode(*root, NodeKind::kOr) == nullptr) {
    kind = NodeKind::kProjectionCovered;
  } else if (needs.simple) {
    kind = NodeKind::kProjectionSimple;
  }
  if (!covered) {
    root = Fetched(std::move(root));
  }
  PlanNode* above_sort = root->kind == NodeKind::kSkip ? root->inputs[0].get() : root.get();
  if (BelongsBelowSort(query, needs, *above_sort)) {
    above_sort->inputs[0] = Over(kind, std::move(above_sort->inputs[0]));
    return root;
  }
  return Over(kind, std::move(root));
}

// COUNT_SCAN in place of an index scan that reads one range and asks nothing.
void TurnIntoCountScan(PlanNode& scan) {
  bool points = true;
  bool range = true;
  for (const IntervalList& list : scan.bounds.parts) {
    range = range && list.intervals().size() == 1 && (points || list.IsAll());
    points = points && list.IsPoint();
  }
  if (scan.kind == NodeKind::kIndexScan && scan.filter == nullptr && range && !scan.bounds.range) {
    scan.kind = NodeKind::kCountScan;
  }
}

PlanNodePtr ArrangeCount(const QuerySpec& query, PlanNodePtr root) {
  TurnIntoCountScan(*root);
  root = Over(NodeKind::kCount, std::move(root));
  root->amount = query.limit;
  root->skip = query.skip;
  return root;
}

// Rows that were not fetched show their key where something above reads them.
void MarkKeyReaders(PlanNode& node, bool wanted) {
  switch (node.kind) {
    case NodeKind::kFetch:
    case NodeKind::kCount:
      wanted = false;
      break;
    case NodeKind::kSort:
    case NodeKind::kSortMerge:
    case NodeKind::kSortKeys:
    case NodeKind::kShardingFilter:
    case NodeKind::kProjectionSimple:
    case NodeKind::kProjectionCovered:
    case NodeKind::kProjectionDefault:
      wanted = true;
      break;
    default:
      break;
  }
  node.needs_key = wanted;
  for (auto& input : node.inputs) {
    MarkKeyReaders(*input, wanted);
  }
}

}  // namespace

bool Provides(const PlanNode& node, const std::string& path) {
  if (node.Fetched()) {
    return true;
  }
  if (node.index == nullptr) {
    return !node.inputs.empty() &&
           std::all_of(node.inputs.begin(), node.inputs.end(),
                       [&](const auto& input) { return Provides(*input, path); });
  }
  const store::IndexKeySpec& spec = node.index->keys;
  if (node.index->collator != nullptr || spec.special != nullptr) {
    return false;
  }
  for (size_t part = 0; part < spec.parts.size(); ++part) {
    if (spec.parts[part].path == path) {
      bool numeric = false;
      for (size_t step = 0; step < spec.paths[part].size(); ++step) {
        numeric = numeric || bson::IsNumericPart(spec.paths[part][step]);
      }
      bool one_path = !spec.IsWildcard(part) || node.bounds.parts[spec.path_part].IsPoint();
      return !numeric && one_path && spec.parts[part].kind->holds == store::PartHolds::kValue &&
             !store::IsMultikey(spec, node.multikey, part);
    }
  }
  return false;
}

NodeKind ProjectionKind(const QuerySpec& query, bson::View fields) {
  auto parsed =
      expr::Projection::Parse(fields, expr::Projection::Policy::kFind, query.context, query.filter);
  QuerySpec shown;
  shown.projection = parsed.ok() ? parsed->get() : nullptr;
  return ProjectionKind(shown);
}

NodeKind ProjectionKind(const QuerySpec& query) {
  return NeedsOf(query).simple ? NodeKind::kProjectionSimple : NodeKind::kProjectionDefault;
}

PlanNodePtr Arrange(const QuerySpec& query, PlanNodePtr access, bool* blocking) {
  *blocking = false;
  // How many there are is told from a counter, as in MongoDB, whoever owns them.
  const bool counts_all = query.count_only && (query.filter == nullptr || query.filter->trivial());
  if (query.ownership != nullptr && !(counts_all && query.hint.missing())) {
    access = FilterForShard(query, std::move(access));
  }
  if (query.count_only) {
    PlanNodePtr root = ArrangeCount(query, std::move(access));
    MarkKeyReaders(*root, false);
    return root;
  }
  if (query.no_fields && query.sort == nullptr) {
    TurnIntoCountScan(*access);
  }
  PlanNodePtr root = AddSort(query, std::move(access), blocking);
  bool limited_by_sort = *blocking;
  if (query.skip > 0) {
    root = Over(NodeKind::kSkip, std::move(root));
    root->amount = query.skip;
  }
  if (query.return_key) {
    root = Over(NodeKind::kReturnKey, std::move(root));
  } else if (query.projection != nullptr || query.show_record_id) {
    root = AddProjection(query, std::move(root));
  } else if (!query.no_fields) {
    root = Fetched(std::move(root));
    if (!query.distinct_path.empty() && query.filter != nullptr && !query.filter->trivial()) {
      bool dotted = query.distinct_path.find('.') != std::string::npos;
      root = Over(dotted ? NodeKind::kProjectionDefault : NodeKind::kProjectionSimple,
                  std::move(root));
    }
  }
  if (query.limit > 0 && !limited_by_sort) {
    root = Over(NodeKind::kLimit, std::move(root));
    root->amount = query.limit;
  }
  MarkKeyReaders(*root, false);
  return root;
}

}  // namespace quire::plan
