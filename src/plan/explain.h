// SPDX-License-Identifier: Apache-2.0
//
// Plans as MongoDB's explain shows them.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "plan/lower.h"
#include "plan/plan_node.h"
#include "plan/query.h"
#include "plan/trial.h"
#include "quire/bson.h"

namespace quire::plan {

// What is known of a planned, perhaps run, query.
struct Explained {
  const QuerySpec& query;
  const std::vector<PlanNodePtr>& plans;
  size_t winner;
  const std::vector<Trial>& trials;  // empty when there was none
  const Running* running;            // null before the run
  std::chrono::steady_clock::time_point start;
  std::chrono::steady_clock::time_point chosen;  // when the winner was known
};

// The fields of queryPlanner.
void AppendPlannerFields(const Explained& explained, bson::Builder* out);
// The fields of executionStats. REQUIRES: explained.running.
void AppendExecutionFields(const Explained& explained, std::string_view verbosity,
                           bson::Builder* out);
// What $planCacheStats shows of a trial: the winner's stages, an array of the candidates'
// statistics, and an array of their scores.
void AppendCacheDetails(const Explained& explained, bson::Document* plan, bson::Document* trials,
                        bson::Document* scores);
// "COLLSCAN", "IXSCAN { a: 1 }, IXSCAN { b: 1 }"...
std::string SummaryOf(const PlanNode& root);

}  // namespace quire::plan
