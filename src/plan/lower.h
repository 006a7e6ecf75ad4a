// SPDX-License-Identifier: Apache-2.0
//
// From the plan's data to the operators of one run.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "exec/operator.h"
#include "plan/plan_node.h"
#include "plan/query.h"
#include "store/transaction.h"

namespace quire::plan {

// A running plan node with its inputs.
struct Running {
  const PlanNode* node = nullptr;
  std::unique_ptr<exec::Operator> op;
  std::vector<Running> inputs;
};

// `node`, `query` and `txn` outlive the result.
Running Lower(const PlanNode& node, const QuerySpec& query, size_t memory_limit,
              store::Transaction* txn);

// Sums of the whole tree; `returned`, `works` and the like are the root's.
exec::Counters Totals(const Running& running);

}  // namespace quire::plan
