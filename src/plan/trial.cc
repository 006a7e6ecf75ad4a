// SPDX-License-Identifier: Apache-2.0
#include "plan/trial.h"

#include <algorithm>

#include "base/error_codes.h"
#include "base/try.h"

namespace quire::plan {

namespace {

using exec::Step;

// Steps one plan once. True when the trial of all plans is over.
bool StepOnce(OpContext& op, const TrialLimits& limits, Trial* trial) {
  exec::Row row;
  auto step = trial->running.op->Work(op, &row);
  if (!step.ok()) {
    trial->failure = step.status();
    return false;
  }
  if (*step == Step::kEnd) {
    trial->ended = true;
    return true;
  }
  if (*step == Step::kRow) {
    trial->rows.emplace_back(row);
  }
  return trial->rows.size() >= limits.rows;
}

// Rows per step decide; among equals the end reached, no sort, and no fetch under a projection.
double ScoreOf(const PlanNode& plan, const Trial& trial) {
  if (!trial.failure.ok()) {
    return 0;
  }
  auto works = static_cast<double>(std::max<uint64_t>(trial.counters.works, 1));
  double productivity = static_cast<double>(trial.rows.size()) / works;
  double epsilon = std::min(1.0 / (10.0 * works), 1e-4);
  bool projects = FindNode(plan, NodeKind::kProjectionSimple) != nullptr ||
                  FindNode(plan, NodeKind::kProjectionCovered) != nullptr ||
                  FindNode(plan, NodeKind::kProjectionDefault) != nullptr;
  bool fetches = FindNode(plan, NodeKind::kFetch) != nullptr;
  double bonus = epsilon;  // no index intersection
  bonus += projects && fetches ? 0 : epsilon;
  bonus += FindNode(plan, NodeKind::kSort) != nullptr ? 0 : epsilon;
  return 1 + productivity + bonus + (trial.ended ? 1 : 0);
}

}  // namespace

TrialLimits LimitsFor(const QuerySpec& query) {
  TrialLimits limits;
  auto share = static_cast<double>(query.collection->state->documents.load()) * 0.3;
  limits.works = std::max(limits.works, static_cast<uint64_t>(std::max(share, 0.0)));
  if (query.limit > 0) {
    limits.rows = std::min(limits.rows, static_cast<uint64_t>(query.limit));
  }
  return limits;
}

Result<std::vector<Trial>> RunTrials(OpContext& op, const QuerySpec& query,
                                     const std::vector<PlanNodePtr>& plans, size_t memory_limit,
                                     store::Transaction* txn, size_t* winner) {
  std::vector<Trial> trials(plans.size());
  for (size_t i = 0; i < plans.size(); ++i) {
    trials[i].running = Lower(*plans[i], query, memory_limit, txn);
  }
  TrialLimits limits = LimitsFor(query);
  bool over = false;
  for (uint64_t works = 0; works < limits.works && !over; ++works) {
    bool alive = false;
    for (Trial& trial : trials) {
      if (trial.failure.ok()) {
        alive = true;
        over = StepOnce(op, limits, &trial) || over;
      }
    }
    if (!alive) {
      return trials[0].failure;
    }
  }
  RETURN_IF_ERROR(op.CheckInterruptNow());
  *winner = 0;
  for (size_t i = 0; i < plans.size(); ++i) {
    trials[i].counters = Totals(trials[i].running);
    trials[i].score = ScoreOf(*plans[i], trials[i]);
    if (trials[i].score > trials[*winner].score) {
      *winner = i;
    }
  }
  return trials;
}

Result<bool> RunAlone(OpContext& op, const QuerySpec& query, const PlanNode& plan, uint64_t works,
                      size_t memory_limit, store::Transaction* txn, Trial* trial) {
  trial->running = Lower(plan, query, memory_limit, txn);
  TrialLimits limits = LimitsFor(query);
  for (uint64_t i = 0; i < works; ++i) {
    if (StepOnce(op, limits, trial)) {
      return true;
    }
    RETURN_IF_ERROR(trial->failure);
  }
  return false;
}

Result<Step> Replay::Work(OpContext& op, exec::Row* row) {
  if (next_ < trial_->rows.size()) {
    trial_->rows[next_++].ShowIn(row);
    return Step::kRow;
  }
  if (trial_->ended) {
    return Step::kEnd;
  }
  return trial_->running.op->Work(op, row);
}

Result<bool> Replay::Next(OpContext& op, exec::Row* row) {
  while (true) {
    ASSIGN_OR_RETURN(Step step, Work(op, row));
    if (step != Step::kAgain) {
      return step == Step::kRow;
    }
  }
}

}  // namespace quire::plan
