// SPDX-License-Identifier: Apache-2.0
//
// Choosing among plans by running each for a while on the data.
#pragma once

#include <memory>
#include <vector>

#include "exec/kept_row.h"
#include "plan/lower.h"
#include "plan/plan_node.h"
#include "plan/query.h"

namespace quire::plan {

// One plan's trial.
struct Trial {
  Running running;
  std::vector<exec::KeptRow> rows;
  bool ended = false;
  Status failure;
  exec::Counters counters;  // when the trial ended
  double score = 0;
};

struct TrialLimits {
  uint64_t works = 10000;
  uint64_t rows = 101;
};
TrialLimits LimitsFor(const QuerySpec& query);

// Runs all plans in turns until one has given enough rows, ended, or used up its works. The
// winner's index goes into *winner. Fails when every plan does.
Result<std::vector<Trial>> RunTrials(OpContext& op, const QuerySpec& query,
                                     const std::vector<PlanNodePtr>& plans, size_t memory_limit,
                                     store::Transaction* txn, size_t* winner);

// Runs one plan up to `works` steps. False when it neither gave enough rows nor ended by then.
Result<bool> RunAlone(OpContext& op, const QuerySpec& query, const PlanNode& plan, uint64_t works,
                      size_t memory_limit, store::Transaction* txn, Trial* trial);

// Gives the rows of a trial again, then those that follow.
class Replay final : public exec::Operator {
 public:
  explicit Replay(Trial* trial) : trial_(trial) {}
  Result<bool> Next(OpContext& op, exec::Row* row) override;
  Result<exec::Step> Work(OpContext& op, exec::Row* row) override;

 private:
  Trial* trial_;
  size_t next_ = 0;
};

}  // namespace quire::plan
