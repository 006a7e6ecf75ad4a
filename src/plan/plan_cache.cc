// SPDX-License-Identifier: Apache-2.0
#include "plan/plan_cache.h"

#include <utility>

#include "base/try.h"
#include "bson/number.h"
#include "expr/collation/collator.h"

namespace quire::plan {

namespace {

struct Slot final : store::CollectionState::Attachment {
  PlanMemory memory;
};

}  // namespace

PlanMemory& PlanMemory::Of(const store::CollectionInfo& collection) {
  auto& attachment = collection.state->Attach([] { return std::make_unique<Slot>(); });
  PlanMemory& memory = static_cast<Slot&>(attachment).memory;
  if (memory.version_.load(std::memory_order_acquire) != collection.version) {
    MutexLock lock(memory.mutex_);
    memory.plans_.clear();
    memory.version_.store(collection.version, std::memory_order_release);
  }
  return memory;
}

std::optional<CachedPlan> PlanMemory::Find(const std::string& key) {
  MutexLock lock(mutex_);
  auto found = plans_.find(key);
  return found == plans_.end() ? std::nullopt : std::optional<CachedPlan>(found->second);
}

void PlanMemory::Remember(CachedPlan plan) {
  MutexLock lock(mutex_);
  auto found = plans_.find(plan.shape.key);
  if (found == plans_.end()) {
    if (plans_.size() >= kMostPlans) {
      plans_.clear();
    }
    plans_.emplace(plan.shape.key, std::move(plan));
    return;
  }
  CachedPlan& known = found->second;
  if (plan.works <= known.works || known.active) {
    plan.active = true;
    known = std::move(plan);
  } else {
    known.works *= 2;
  }
}

void PlanMemory::Forget(const std::string& key) {
  MutexLock lock(mutex_);
  plans_.erase(key);
}

void PlanMemory::ForgetShape(const std::string& query_hash) {
  MutexLock lock(mutex_);
  std::erase_if(plans_,
                [&](const auto& entry) { return entry.second.shape.query_hash == query_hash; });
}

void PlanMemory::Clear() {
  MutexLock lock(mutex_);
  plans_.clear();
}

std::vector<CachedPlan> PlanMemory::List() {
  MutexLock lock(mutex_);
  std::vector<CachedPlan> list;
  for (const auto& [key, plan] : plans_) {
    list.push_back(plan);
  }
  return list;
}

std::optional<IndexFilter> PlanMemory::FindFilter(const std::string& query_hash) {
  MutexLock lock(mutex_);
  auto found = filters_.find(query_hash);
  return found == filters_.end() ? std::nullopt : std::optional<IndexFilter>(found->second);
}

void PlanMemory::SetFilter(const std::string& query_hash, IndexFilter filter) {
  MutexLock lock(mutex_);
  std::erase_if(plans_,
                [&](const auto& entry) { return entry.second.shape.query_hash == query_hash; });
  filters_.insert_or_assign(query_hash, std::move(filter));
  has_filters_.store(true, std::memory_order_release);
}

bool PlanMemory::ClearFilter(const std::string& query_hash) {
  MutexLock lock(mutex_);
  std::erase_if(plans_,
                [&](const auto& entry) { return entry.second.shape.query_hash == query_hash; });
  bool there = filters_.erase(query_hash) > 0;
  has_filters_.store(!filters_.empty(), std::memory_order_release);
  return there;
}

void PlanMemory::ClearFilters() {
  MutexLock lock(mutex_);
  plans_.clear();
  filters_.clear();
  has_filters_.store(false, std::memory_order_release);
}

std::vector<IndexFilter> PlanMemory::ListFilters() {
  MutexLock lock(mutex_);
  std::vector<IndexFilter> list;
  for (const auto& [hash, filter] : filters_) {
    list.push_back(filter);
  }
  return list;
}

Result<std::string> QueryHashOf(const store::CollectionPtr& collection, bson::View filter,
                                bson::View sort, bson::View projection, bson::View collation) {
  std::shared_ptr<const expr::Collator> collator = collection->collator;
  if (!collation.empty()) {
    ASSIGN_OR_RETURN(collator, expr::Collator::Parse(collation));
  }
  expr::Context context;
  context.collator = collator.get();
  ASSIGN_OR_RETURN(auto parsed, expr::match::Filter::Parse(filter, &context));
  ASSIGN_OR_RETURN(auto pattern, expr::SortPattern::Parse(sort));
  if (!projection.empty()) {
    ASSIGN_OR_RETURN(auto checked,
                     expr::Projection::Parse(projection, expr::Projection::Policy::kFind, &context,
                                             parsed.get()));
  }
  QuerySpec query;
  query.collection = collection;
  query.context = &context;
  query.filter = parsed.get();
  query.sort_spec = sort;
  query.projection_spec = projection;
  return ShapeOf(query).query_hash;
}

std::vector<bson::Document> PlanCacheStats(const store::CollectionInfo& collection) {
  PlanMemory& memory = PlanMemory::Of(collection);
  std::vector<bson::Document> stats;
  for (const CachedPlan& plan : memory.List()) {
    bson::Builder out;
    out.Append("version", "1");
    out.Append("queryHash", plan.shape.query_hash);
    out.Append("planCacheKey", plan.shape.plan_cache_key);
    out.Append("isActive", plan.active);
    out.Append("works", static_cast<int64_t>(plan.works));
    out.Append("timeOfCreation", plan.created);
    out.Append("createdFromQuery", plan.created_from);
    out.Append("cachedPlan", plan.plan);
    out.AppendArray("creationExecStats", plan.trials);
    out.AppendArray("candidatePlanScores", plan.scores);
    out.Append("indexFilterSet", memory.FindFilter(plan.shape.query_hash).has_value());
    out.Append("isPinned", false);
    out.Append(
        "estimatedSizeBytes",
        static_cast<int64_t>(plan.plan.bytes().size() + plan.trials.bytes().size() + sizeof plan));
    stats.push_back(out.Finish());
  }
  return stats;
}

}  // namespace quire::plan
