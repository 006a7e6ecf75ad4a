// SPDX-License-Identifier: Apache-2.0
#include "plan/planner.h"

#include "base/try.h"
#include "plan/query_plan.h"

namespace quire::plan {

Result<std::unique_ptr<Plan>> MakePlan(OpContext& op, const Query& query, store::Transaction& txn) {
  auto plan = std::make_unique<QueryPlan>(query, op.memory_limit);
  RETURN_IF_ERROR(plan->Choose(op, txn));
  return std::unique_ptr<Plan>(std::move(plan));
}

}  // namespace quire::plan
