// SPDX-License-Identifier: Apache-2.0
#include "plan/plan.h"

#include <algorithm>

#include "base/try.h"
#include "plan/access/arrange.h"
#include "plan/access/candidates.h"
#include "plan/access/clustered_scan.h"
#include "plan/access/hint.h"
#include "plan/access/id_lookup.h"
#include "plan/access/sort_order.h"
#include "plan/access/special.h"
#include "plan/explain.h"
#include "plan/plan_cache.h"

namespace quire::plan {

namespace {

using expr::match::Kind;

// For $indexStats and $collStats.
void CountAccesses(const QuerySpec& query, const PlanNode& node) {
  if (node.kind == NodeKind::kIdLookup) {
    query.collection->indexes.front()->state->accesses.fetch_add(1, std::memory_order_relaxed);
  } else if (node.index != nullptr) {
    node.index->state->accesses.fetch_add(1, std::memory_order_relaxed);
  } else if (node.kind == NodeKind::kCollectionScan || node.kind == NodeKind::kClusteredScan) {
    auto& state = *query.collection->state;
    (query.tailable ? state.tailable_scans : state.scans).fetch_add(1, std::memory_order_relaxed);
  }
  for (const auto& input : node.inputs) {
    CountAccesses(query, *input);
  }
}

// {sort: {$natural: 1}} is a hint.
void TakeNaturalSort(QuerySpec* query, bson::Document* hint) {
  if (Sorts(*query) && query->sort->parts().size() == 1 &&
      query->sort->parts()[0].path == "$natural") {
    *hint = bson::Builder().Append("$natural", query->sort->parts()[0].ascending ? 1 : -1).Finish();
    query->hint = bson::Value(hint->view());
    query->sort = nullptr;
  }
}

// The plan of a query that has no answer.
PlanNodePtr NoRows(const QuerySpec& query) {
  auto none = std::make_unique<PlanNode>(NodeKind::kEof);
  return query.count_only ? Over(NodeKind::kCount, std::move(none)) : std::move(none);
}

}  // namespace

Result<std::unique_ptr<Plan>> Plan::Make(OpContext& op, const QuerySpec& query,
                                         store::Transaction& txn) {
  std::unique_ptr<Plan> plan(new Plan(query, op.memory_limit));
  RETURN_IF_ERROR(plan->Choose(op, txn));
  if (query.explain) {
    plan->chosen_ = std::chrono::steady_clock::now();
  }
  return plan;
}

Status Plan::Choose(OpContext& op, store::Transaction& txn) {
  TakeNaturalSort(&query_, &natural_hint_);
  ASSIGN_OR_RETURN(PlanNodePtr special, SpecialAccess(query_));
  if (special != nullptr) {
    bool blocking = false;
    plans_.push_back(Arrange(query_, std::move(special), &blocking));
    return Status::Ok();
  }
  if (query_.collection == nullptr) {
    plans_.push_back(NoRows(query_));
    return Status::Ok();
  }
  // What Count does without a plan.
  if (query_.explain && query_.count_only && query_.rows == nullptr && query_.hint.missing() &&
      (query_.filter == nullptr || query_.filter->trivial())) {
    plans_.push_back(std::make_unique<PlanNode>(NodeKind::kRecordCount));
    return Status::Ok();
  }
  if (PlanNodePtr lookup = query_.rows == nullptr ? IdLookupPlan(query_) : nullptr) {
    plans_.push_back(std::move(lookup));
    return Status::Ok();
  }
  if (query_.filter != nullptr && query_.filter->root().kind() == Kind::kAlwaysFalse) {
    plans_.push_back(NoRows(query_));
    return Status::Ok();
  }
  return ChooseAmong(op, txn);
}

Status Plan::ChooseAmong(OpContext& op, store::Transaction& txn) {
  if (!query_.allowed_indexes.empty() && query_.min.empty() && query_.max.empty()) {
    ASSIGN_OR_RETURN(bool chosen, ChooseAllowed(op, txn));
    if (chosen) {
      return Status::Ok();
    }
  }
  ASSIGN_OR_RETURN(std::vector<IndexChoice> indexes, UsableIndexes(query_));
  return ChooseFrom(op, indexes, txn);
}

Result<bool> Plan::ChooseAllowed(OpContext& op, store::Transaction& txn) {
  bson::Value asked = std::exchange(query_.hint, bson::Value());
  std::vector<IndexChoice> indexes = AllowedIndexes(query_);
  if (!indexes.empty()) {
    RETURN_IF_ERROR(ChooseFrom(op, indexes, txn));
    if (FindNode(root(), NodeKind::kCollectionScan) == nullptr) {
      return true;
    }
    plans_.clear();
    trials_.clear();
    winner_ = 0;
  }
  for (const bson::Element& e : query_.allowed_indexes) {
    query_.hint = e.value();
    if (NaturalHint(query_) != 0 || HintsClusterKey(query_)) {
      RETURN_IF_ERROR(ChooseFrom(op, {}, txn));
      return true;
    }
  }
  query_.hint = asked;
  return false;
}

Status Plan::ChooseFrom(OpContext& op, const std::vector<IndexChoice>& indexes,
                        store::Transaction& txn) {
  bool plain = query_.hint.missing() && query_.min.empty() && query_.max.empty() &&
               !query_.tailable && query_.distinct_path.empty();
  if (plain && query_.filter != nullptr && query_.filter->root().kind() == Kind::kOr) {
    ASSIGN_OR_RETURN(PlanNodePtr plan, ChooseBranches(op, indexes, txn));
    if (plan != nullptr) {
      plans_.push_back(std::move(plan));
      return Status::Ok();
    }
  }
  ASSIGN_OR_RETURN(plans_, MakeCandidates(query_, indexes));
  RETURN_IF_ERROR(op.CheckInterruptNow());  // bounds of many values took their time
  if (plans_.size() == 1) {
    return Status::Ok();
  }
  QueryShape shape = ShapeOf(query_);
  ASSIGN_OR_RETURN(bool cached, UseCached(op, shape, txn));
  if (cached) {
    return Status::Ok();
  }
  ASSIGN_OR_RETURN(trials_, RunTrials(op, query_, plans_, memory_limit_, &txn, &winner_));
  tried_in_ = &txn;
  if (query_.hint.missing() && !query_.explain) {
    Remember(shape);
  }
  return Status::Ok();
}

Result<bool> Plan::UseCached(OpContext& op, const QueryShape& shape, store::Transaction& txn) {
  if (query_.explain || !query_.hint.missing()) {
    return false;
  }
  constexpr uint64_t kReplanFactor = 10;
  PlanMemory& memory = PlanMemory::Of(*query_.collection);
  auto known = memory.Find(shape.key);
  if (!known.has_value() || !known->active) {
    return false;
  }
  auto same = std::find_if(plans_.begin(), plans_.end(), [&](const PlanNodePtr& plan) {
    return SignatureOf(*plan) == known->signature;
  });
  if (same == plans_.end()) {
    return false;
  }
  winner_ = static_cast<size_t>(same - plans_.begin());
  std::vector<Trial> alone(plans_.size());
  uint64_t works = std::max<uint64_t>(known->works, 1) * kReplanFactor;
  ASSIGN_OR_RETURN(bool good,
                   RunAlone(op, query_, **same, works, memory_limit_, &txn, &alone[winner_]));
  if (!good) {
    memory.Forget(shape.key);
    return false;
  }
  trials_ = std::move(alone);
  tried_in_ = &txn;
  return true;
}

void Plan::Remember(const QueryShape& shape) const {
  CachedPlan plan;
  plan.shape = shape;
  plan.signature = SignatureOf(root());
  plan.works = trials_[winner_].counters.works;
  plan.created = {std::chrono::duration_cast<std::chrono::milliseconds>(
                      std::chrono::system_clock::now().time_since_epoch())
                      .count()};
  bson::Builder from;
  from.Append("query", query_.filter_spec)
      .Append("sort", query_.sort_spec)
      .Append("projection", query_.projection_spec);
  plan.created_from = from.Finish();
  Explained explained{query_, plans_, winner_, trials_, nullptr, start_, chosen_};
  AppendCacheDetails(explained, &plan.plan, &plan.trials, &plan.scores);
  PlanMemory::Of(*query_.collection).Remember(std::move(plan));
}

Result<PlanNodePtr> Plan::ChooseBranches(OpContext& op, const std::vector<IndexChoice>& indexes,
                                         store::Transaction& txn) {
  Enumerator enumerator(query_, indexes);
  auto lists = enumerator.Branches(query_.filter->root());
  if (lists.empty()) {
    return PlanNodePtr();
  }
  std::vector<PlanNodePtr> chosen;
  for (size_t branch = 0; branch < lists.size(); ++branch) {
    size_t best = 0;
    if (lists[branch].size() > 1) {
      QuerySpec alone;
      alone.collection = query_.collection;
      alone.context = query_.context;
      std::vector<PlanNodePtr> plans;
      bool blocking = false;
      for (const PlanNodePtr& access : lists[branch]) {
        plans.push_back(Arrange(alone, access->Clone(), &blocking));
      }
      ASSIGN_OR_RETURN(auto trials, RunTrials(op, alone, plans, memory_limit_, &txn, &best));
    }
    chosen.push_back(std::move(lists[branch][best]));
  }
  bool blocking = false;
  PlanNodePtr root = Arrange(query_, Enumerator::Combine(std::move(chosen)), &blocking);
  return Over(NodeKind::kSubplan, std::move(root));
}

Result<exec::Operator*> Plan::Open(store::Transaction& txn) {
  if (!query_.explain) {
    CountAccesses(query_, root());
  }
  if (tried_in_ == &txn) {
    replay_ = std::make_unique<Replay>(&trials_[winner_]);
    return static_cast<exec::Operator*>(replay_.get());
  }
  fresh_ = Lower(root(), query_, memory_limit_, &txn);
  return fresh_->op.get();
}

const Running* Plan::running() const {
  if (replay_ != nullptr) {
    return &trials_[winner_].running;
  }
  return fresh_.has_value() ? &*fresh_ : nullptr;
}

void Plan::ExplainPlanner(bson::Builder* out) const {
  Explained explained{query_, plans_, winner_, trials_, running(), start_, chosen_};
  AppendPlannerFields(explained, out);
}

void Plan::ExplainExecution(std::string_view verbosity, bson::Builder* out) const {
  Explained explained{query_, plans_, winner_, trials_, running(), start_, chosen_};
  AppendExecutionFields(explained, verbosity, out);
}

std::string Plan::Summary() const { return SummaryOf(root()); }

exec::Counters Plan::Totals() const {
  return running() == nullptr ? exec::Counters() : plan::Totals(*running());
}

}  // namespace quire::plan
