// SPDX-License-Identifier: Apache-2.0
#include "plan/plan_node.h"

#include <algorithm>

namespace quire::plan {

std::string_view StageName(StageKind kind) {
  switch (kind) {
    case StageKind::kEof:
      return "EOF";
    case StageKind::kCollectionScan:
      return "COLLSCAN";
    case StageKind::kClusteredScan:
      return "CLUSTERED_IXSCAN";
    case StageKind::kIdLookup:
      return "IDHACK";
    case StageKind::kIndexScan:
      return "IXSCAN";
    case StageKind::kCountScan:
      return "COUNT_SCAN";
    case StageKind::kDistinctScan:
      return "DISTINCT_SCAN";
    case StageKind::kFetch:
      return "FETCH";
    case StageKind::kTextMatch:
      return "TEXT_MATCH";
    case StageKind::kTextOr:
      return "TEXT_OR";
    case StageKind::kGeoNear2d:
      return "GEO_NEAR_2D";
    case StageKind::kGeoNear2dsphere:
      return "GEO_NEAR_2DSPHERE";
    case StageKind::kOr:
      return "OR";
    case StageKind::kSortMerge:
      return "SORT_MERGE";
    case StageKind::kSort:
      return "SORT";
    case StageKind::kLimit:
      return "LIMIT";
    case StageKind::kSkip:
      return "SKIP";
    case StageKind::kProjectionSimple:
      return "PROJECTION_SIMPLE";
    case StageKind::kProjectionCovered:
      return "PROJECTION_COVERED";
    case StageKind::kProjectionDefault:
      return "PROJECTION_DEFAULT";
    case StageKind::kReturnKey:
      return "RETURN_KEY";
    case StageKind::kCount:
      return "COUNT";
    case StageKind::kRecordCount:
      return "RECORD_STORE_FAST_COUNT";
    case StageKind::kSubplan:
      return "SUBPLAN";
  }
  return "";
}

bool PlanNode::Fetched() const {
  switch (kind) {
    case StageKind::kIndexScan:
    case StageKind::kCountScan:
    case StageKind::kDistinctScan:
      return false;
    case StageKind::kFetch:
    case StageKind::kTextOr:
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
  std::string text(StageName(root.kind));
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

const PlanNode* FindNode(const PlanNode& root, StageKind kind) {
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
