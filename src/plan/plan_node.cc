// SPDX-License-Identifier: Apache-2.0
#include "plan/plan_node.h"

#include <algorithm>

#include "store/keys/index_kind.h"

namespace quire::plan {

std::string_view StageName(NodeKind kind) {
  switch (kind) {
    case NodeKind::kEof:
      return "EOF";
    case NodeKind::kCollectionScan:
      return "COLLSCAN";
    case NodeKind::kClusteredScan:
      return "CLUSTERED_IXSCAN";
    case NodeKind::kIdLookup:
      return "IDHACK";
    case NodeKind::kIndexScan:
      return "IXSCAN";
    case NodeKind::kCountScan:
      return "COUNT_SCAN";
    case NodeKind::kDistinctScan:
      return "DISTINCT_SCAN";
    case NodeKind::kFetch:
      return "FETCH";
    case NodeKind::kShardingFilter:
      return "SHARDING_FILTER";
    case NodeKind::kTextMatch:
      return "TEXT_MATCH";
    case NodeKind::kTextOr:
      return "TEXT_OR";
    case NodeKind::kGeoNear:
      return "GEO_NEAR";
    case NodeKind::kOr:
      return "OR";
    case NodeKind::kSortMerge:
      return "SORT_MERGE";
    case NodeKind::kSort:
      return "SORT";
    case NodeKind::kSortKeys:
      return "SORT_KEY_GENERATOR";
    case NodeKind::kLimit:
      return "LIMIT";
    case NodeKind::kSkip:
      return "SKIP";
    case NodeKind::kProjectionSimple:
      return "PROJECTION_SIMPLE";
    case NodeKind::kProjectionCovered:
      return "PROJECTION_COVERED";
    case NodeKind::kProjectionDefault:
      return "PROJECTION_DEFAULT";
    case NodeKind::kReturnKey:
      return "RETURN_KEY";
    case NodeKind::kCount:
      return "COUNT";
    case NodeKind::kRecordCount:
      return "RECORD_STORE_FAST_COUNT";
    case NodeKind::kSubplan:
      return "SUBPLAN";
  }
  return "";
}

std::string_view StageName(const PlanNode& node) {
  return node.kind == NodeKind::kGeoNear
             ? node.index->keys.parts[node.geo_part].kind->cells->near_stage
             : StageName(node.kind);
}

bool PlanNode::Fetched() const {
  switch (kind) {
    case NodeKind::kIndexScan:
    case NodeKind::kCountScan:
    case NodeKind::kDistinctScan:
      return false;
    case NodeKind::kFetch:
    case NodeKind::kTextOr:
      return true;
    default:
      return std::all_of(inputs.begin(), inputs.end(),
                         [](const auto& input) { return input->Fetched(); });
  }
}

PlanNodePtr PlanNode::Clone() const {
  auto copy = std::make_unique<PlanNode>(kind);
  for (const auto& input : inputs) {
    copy->inputs.push_back(input->Clone());
  }
  copy->filter = filter;
  copy->backward = backward;
  copy->id = id;
  copy->index = index;
  copy->owned_index = owned_index;
  copy->bounds = bounds;
  copy->range = range;
  copy->in_id_order = in_id_order;
  copy->multikey = multikey;
  copy->needs_key = needs_key;
  copy->distinct_part = distinct_part;
  copy->text = text;
  copy->score_part = score_part;
  copy->near = near;
  copy->geo_part = geo_part;
  copy->amount = amount;
  copy->skip = skip;
  return copy;
}

std::string SignatureOf(const PlanNode& root) {
  std::string text(StageName(root));
  if (root.index != nullptr) {
    text += " " + root.index->name + (root.backward ? " -" : " +");
    if (root.index->keys.wildcard != nullptr) {
      text += root.index->keys.parts[root.index->keys.path_part + 1].path;
    }
    for (const IntervalList& list : root.bounds.parts) {
      text += list.IsAll() ? "." : "x";
    }
  }
  text += root.filter == nullptr ? "(" : "f(";
  for (const auto& input : root.inputs) {
    text += SignatureOf(*input);
  }
  return text + ")";
}

const PlanNode* FindNode(const PlanNode& root, NodeKind kind) {
  if (root.kind == kind) {
    return &root;
  }
  for (const auto& input : root.inputs) {
    if (const PlanNode* found = FindNode(*input, kind)) {
      return found;
    }
  }
  return nullptr;
}

}  // namespace quire::plan
