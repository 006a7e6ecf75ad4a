// SPDX-License-Identifier: Apache-2.0
#include "plan/query_plan.h"

#include "plan/explain.h"
#include "store/collection_scan.h"

namespace quire::plan {

namespace {

store::CollectionScan* FindCollectionScan(const Running& running) {
  if (running.node->kind == StageKind::kCollectionScan) {
    return static_cast<store::CollectionScan*>(running.op.get());
  }
  for (const Running& input : running.inputs) {
    if (auto* scan = FindCollectionScan(input)) {
      return scan;
    }
  }
  return nullptr;
}

}  // namespace

Result<exec::Operator*> QueryPlan::Open(store::Transaction& txn) {
  running_ = Lower(*root_, query_, memory_limit_, &txn);
  return running_->op.get();
}

void QueryPlan::Unbind() {
  if (auto* scan = FindCollectionScan(*running_)) {
    scan->Unbind();
  }
}

Status QueryPlan::Rebind(store::Transaction& txn) {
  auto* scan = FindCollectionScan(*running_);
  return scan == nullptr ? Status::Ok() : scan->Rebind(&txn);
}

void QueryPlan::ExplainPlanner(bson::Builder* out) const {
  AppendPlannerFields(query_, *root_, out);
}

void QueryPlan::ExplainExecution(std::string_view verbosity, bson::Builder* out) const {
  AppendExecutionFields(*running_, verbosity, out);
}

std::string QueryPlan::Summary() const { return SummaryOf(*root_); }

exec::Counters QueryPlan::Totals() const {
  return running_.has_value() ? plan::Totals(*running_) : exec::Counters();
}

}  // namespace quire::plan
