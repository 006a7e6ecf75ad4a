// SPDX-License-Identifier: Apache-2.0
//
// The plan of one query, with the operators of its run: candidates from the usable indexes, a
// choice by trial, and explain, which prints the plan that is really run.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plan/access/enumerate.h"
#include "plan/lower.h"
#include "plan/plan_node.h"
#include "plan/query.h"
#include "plan/query_shape.h"
#include "plan/trial.h"

namespace quire::plan {

// Pure data until it is opened. Use by one thread at a time.
class Plan {
 public:
  // Chooses among candidates from the usable indexes; may run them on the data for a while. What
  // `query` points to outlives the plan and its operators. Errors: BadValue for a bad hint,
  // NoQueryExecutionPlans...
  static Result<std::unique_ptr<Plan>> Make(OpContext& op, const QuerySpec& query,
                                            store::Transaction& txn);

  // The operator tree of the chosen plan, reading through `txn`, which outlives it. Once only.
  Result<exec::Operator*> Open(store::Transaction& txn);

  // The fields of explain's queryPlanner / executionStats, appended to `out`. The latter REQUIRES
  // the run to have ended; `verbosity` "allPlansExecution" adds the trials.
  void ExplainPlanner(bson::Builder* out) const;
  void ExplainExecution(std::string_view verbosity, bson::Builder* out) const;
  // "IXSCAN { a: 1 }", "COLLSCAN", "IDHACK"... for logs and $currentOp.
  std::string Summary() const;
  // Totals over the whole tree.
  exec::Counters Totals() const;

  const PlanNode& root() const { return *plans_[winner_]; }

 private:
  Plan(const QuerySpec& query, size_t memory_limit) : query_(query), memory_limit_(memory_limit) {}
  // Makes and compares candidates.
  Status Choose(OpContext& op, store::Transaction& txn);
  Status ChooseAmong(OpContext& op, store::Transaction& txn);
  // Among the indexes query settings allow, whatever the hint. False when none of them helps.
  Result<bool> ChooseAllowed(OpContext& op, store::Transaction& txn);
  Status ChooseFrom(OpContext& op, const std::vector<IndexChoice>& indexes,
                    store::Transaction& txn);
  // Begins with the plan that won for this shape before. False when there is none or it does badly.
  Result<bool> UseCached(OpContext& op, const QueryShape& shape, store::Transaction& txn);
  void Remember(const QueryShape& shape) const;
  // The plan of an $or at the top, each branch chosen for itself; null when a branch has no index.
  Result<PlanNodePtr> ChooseBranches(OpContext& op, const std::vector<IndexChoice>& indexes,
                                     store::Transaction& txn);
  const Running* running() const;

  QuerySpec query_;
  bson::Document natural_hint_;  // what query_.hint shows when the sort asked for natural order
  size_t memory_limit_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point chosen_ = start_;
  std::vector<PlanNodePtr> plans_;
  size_t winner_ = 0;
  std::vector<Trial> trials_;  // one per plan when there was a trial
  const store::Transaction* tried_in_ = nullptr;
  std::optional<Running> fresh_;  // the run when it did not begin with a trial
  std::unique_ptr<Replay> replay_;
};

}  // namespace quire::plan
