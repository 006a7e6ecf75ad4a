// SPDX-License-Identifier: Apache-2.0
//
// A plan as pure data: the tree that explain prints and that lower.h turns into operators.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "expr/match/match.h"
#include "kv/kv.h"
#include "quire/bson.h"
#include "store/catalog.h"

namespace quire::plan {

enum class StageKind {
  kEof,
  kCollectionScan,
  kIdLookup,
  kFetch,
  kSort,
  kLimit,
  kSkip,
  kProjectionSimple,
  kProjectionCovered,
  kProjectionDefault,
  kReturnKey,
};

struct PlanNode {
  explicit PlanNode(StageKind k) : kind(k) {}

  StageKind kind;
  std::vector<std::unique_ptr<PlanNode>> inputs;
  std::shared_ptr<const expr::match::Filter> filter;  // null: none
  // Scans.
  kv::Direction direction = kv::Direction::kForward;
  bson::Value id;  // of kIdLookup
  // Rows of kLimit, kSkip, and kSort (0: all).
  int64_t amount = 0;
};

using PlanNodePtr = std::unique_ptr<PlanNode>;

inline PlanNodePtr Over(StageKind kind, PlanNodePtr input) {
  auto node = std::make_unique<PlanNode>(kind);
  node->inputs.push_back(std::move(input));
  return node;
}

}  // namespace quire::plan
