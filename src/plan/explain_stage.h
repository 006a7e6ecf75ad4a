// SPDX-License-Identifier: Apache-2.0
//
// The stages of a plan as explain's documents.
#pragma once

#include "plan/lower.h"
#include "plan/plan_node.h"
#include "plan/query.h"
#include "quire/bson.h"

namespace quire::plan {

// Writes what a stage is, without its inputs and statistics.
class StageWriter {
 public:
  StageWriter(const QuerySpec& query, bson::Builder* out) : query_(query), out_(out) {}

  // stage, filter and the kind's own fields. `running` may be null.
  void Description(const PlanNode& node, const Running* running);
  // The fields of the tree, inputs included. `running` may be null.
  void Tree(const PlanNode& node, const Running* running);

 private:
  void TextMatch(const PlanNode& node);
  void Scan(const PlanNode& node);
  void Sort(const PlanNode& node);
  void Bounds(const PlanNode& node);
  void CountBounds(const PlanNode& node);
  void Range(const RecordRange& range);
  void Projection();

  const QuerySpec& query_;
  bson::Builder* out_;
};

// An integer as MongoDB writes counters: 32 bits when it fits.
bson::Value Counter(uint64_t n);

}  // namespace quire::plan
