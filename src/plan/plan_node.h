// SPDX-License-Identifier: Apache-2.0
//
// A plan as pure data: the tree that explain prints and that lower.h turns into operators.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "expr/match/match.h"
#include "expr/text/text.h"
#include "kv/kv.h"
#include "plan/bounds/interval.h"
#include "quire/bson.h"
#include "store/catalog.h"

namespace quire::expr::match {
class GeoNearNode;
}

namespace quire::plan {

enum class NodeKind {
  kEof,
  kCollectionScan,
  kClusteredScan,
  kIdLookup,
  kIndexScan,
  kCountScan,
  kDistinctScan,
  kFetch,
  kShardingFilter,
  kTextMatch,
  kTextOr,
  kGeoNear,
  kOr,
  kSortMerge,
  kSort,
  kSortKeys,
  kLimit,
  kSkip,
  kProjectionSimple,
  kProjectionCovered,
  kProjectionDefault,
  kReturnKey,
  kCount,
  kRecordCount,
  kSubplan,
};

// "IXSCAN" and so on.
std::string_view StageName(NodeKind kind);

// What part of an index a scan visits.
struct ScanBounds {
  std::vector<IntervalList> parts;  // one per part of the index; empty with `range`
  // min/max of the query: keys from `min` to before `max`, either may be empty. Values as stored.
  bool range = false;
  bson::Document min;
  bson::Document max;
};

// What part of a clustered collection a scan visits, by values of _id as stored.
struct RecordRange {
  std::optional<bson::OwnedValue> min;
  std::optional<bson::OwnedValue> max;
  bool max_inclusive = true;
};

// A $text with what its index says.
struct TextSearch {
  expr::text::IndexSpec spec;
  expr::text::Query query;
  bson::Document prefix;  // values of the index's parts before the text
};

struct PlanNode;
using PlanNodePtr = std::unique_ptr<PlanNode>;

struct PlanNode {
  explicit PlanNode(NodeKind k) : kind(k) {}

  NodeKind kind;
  std::vector<PlanNodePtr> inputs;
  // Of scans and fetches; null: none. An index scan asks it of the key.
  std::shared_ptr<const expr::match::Filter> filter;

  // Scans.
  bool backward = false;
  bson::Value id;  // of kIdLookup
  const store::IndexInfo* index = nullptr;
  std::shared_ptr<const store::IndexInfo> owned_index;  // keeps a wildcard's form alive
  ScanBounds bounds;
  RecordRange range;         // of kClusteredScan
  bool in_id_order = false;  // a scan of a clustered collection whose order is the query's
  uint64_t multikey = 0;     // the index's multikey bits when it was planned
  bool needs_key = false;    // rows show the key as a document
  size_t distinct_part = 0;  // of kDistinctScan: one row per value up to this part

  // Of kTextMatch and its index scans; `score_part` tells the scans' rows the term's score.
  std::shared_ptr<const TextSearch> text;
  std::optional<size_t> score_part;
  // Of the kGeoNears; the query's filter owns `near`. The bounds of `geo_part` are not used.
  const expr::match::GeoNearNode* near = nullptr;
  size_t geo_part = 0;

  // Rows of kLimit, kSkip, kCount, and of kSort (0: all).
  int64_t amount = 0;
  int64_t skip = 0;  // of kCount

  // Rows carry documents.
  bool Fetched() const;
  PlanNodePtr Clone() const;
};

inline PlanNodePtr Over(NodeKind kind, PlanNodePtr input) {
  auto node = std::make_unique<PlanNode>(kind);
  node->inputs.push_back(std::move(input));
  return node;
}

// Calls visit(node) for every node, top first.
template <typename Visit>
void ForEachNode(PlanNode& node, const Visit& visit) {
  visit(node);
  for (auto& input : node.inputs) {
    ForEachNode(*input, visit);
  }
}

// Which plan it is, whatever the constants: the same for the same choice on a query of the same
// shape.
std::string SignatureOf(const PlanNode& root);

// StageName of the kind; of a $near by the kind of its index ("GEO_NEAR_2D").
std::string_view StageName(const PlanNode& node);

// The first node of that kind, top first; null when there is none.
const PlanNode* FindNode(const PlanNode& root, NodeKind kind);

}  // namespace quire::plan
