// SPDX-License-Identifier: Apache-2.0
//
// The plan of one query with the operators of its run.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plan/lower.h"
#include "plan/plan_node.h"
#include "plan/planner.h"

namespace quire::plan {

class QueryPlan final : public Plan {
 public:
  QueryPlan(const Query& query, PlanNodePtr root, size_t memory_limit)
      : query_(query), root_(std::move(root)), memory_limit_(memory_limit) {}

  Result<exec::Operator*> Open(store::Transaction& txn) override;
  void Unbind() override;
  Status Rebind(store::Transaction& txn) override;
  void ExplainPlanner(bson::Builder* out) const override;
  void ExplainExecution(std::string_view verbosity, bson::Builder* out) const override;
  std::string Summary() const override;
  exec::Counters Totals() const override;

 private:
  Query query_;
  PlanNodePtr root_;
  size_t memory_limit_;
  std::optional<Running> running_;
};

}  // namespace quire::plan
