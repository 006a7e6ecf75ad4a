// SPDX-License-Identifier: Apache-2.0
#include "plan/plan_cache.h"

#include <utility>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/number.h"
#include "expr/collation/collator.h"

namespace quire::plan {

namespace {

constexpr size_t kMostOfPlans = size_t{256} << 20;
constexpr size_t kMostOfFilters = size_t{32} << 20;
std::atomic<size_t> taken_by_plans = 0;
std::atomic<size_t> taken_by_filters = 0;

// Of its texts and documents.
size_t SizeOf(const CachedPlan& plan) {
  return sizeof plan + 2 * plan.shape.key.size() + plan.signature.size() +
         plan.created_from.bytes().size() + plan.plan.bytes().size() + plan.trials.bytes().size() +
         plan.scores.bytes().size();
}

size_t SizeOf(const IndexFilter& filter) {
  return sizeof filter + filter.query.bytes().size() + filter.sort.bytes().size() +
         filter.projection.bytes().size() + filter.collation.bytes().size() +
         filter.indexes.bytes().size();
}

// The choice alone, where what shows it is long.
void Shorten(CachedPlan* plan) {
  constexpr size_t kLong = size_t{64} << 10;
  if (SizeOf(*plan) > kLong) {
    plan->created_from = bson::Document();
    plan->plan = bson::Document();
    plan->trials = bson::Document();
    plan->scores = bson::Document();
  }
}

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
  return found == plans_.end() ? std::nullopt : std::optional<CachedPlan>(found->second.value);
}

void PlanMemory::GiveBack::operator()(const Taken* taken) const {
  *taken->room -= taken->bytes;
  delete taken;
}

PlanMemory::Room PlanMemory::TakeRoom(std::atomic<size_t>* room, size_t most, size_t bytes) {
  if (room->fetch_add(bytes) + bytes > most) {
    *room -= bytes;
    return nullptr;
  }
  return Room(new Taken{room, bytes});
}

void PlanMemory::Remember(CachedPlan plan) {
  constexpr size_t kLongestKey = size_t{64} << 10;
  if (plan.shape.key.size() > kLongestKey) {
    return;
  }
  Shorten(&plan);
  MutexLock lock(mutex_);
  auto found = plans_.find(plan.shape.key);
  if (found != plans_.end()) {
    CachedPlan& known = found->second.value;
    if (plan.works > known.works && !known.active) {
      known.works *= 2;
      return;
    }
    plan.active = true;
    plans_.erase(found);
  }
  Room room = TakeRoom(&taken_by_plans, kMostOfPlans, SizeOf(plan));
  if (room == nullptr || plans_.size() >= kMostPlans) {
    plans_.clear();
    room = TakeRoom(&taken_by_plans, kMostOfPlans, SizeOf(plan));
  }
  if (room != nullptr) {
    std::string key = plan.shape.key;
    plans_.emplace(std::move(key), Kept<CachedPlan>{std::move(plan), std::move(room)});
  }
}

void PlanMemory::Forget(const std::string& key) {
  MutexLock lock(mutex_);
  plans_.erase(key);
}

void PlanMemory::ForgetShape(const std::string& query_hash) {
  MutexLock lock(mutex_);
  std::erase_if(
      plans_, [&](const auto& entry) { return entry.second.value.shape.query_hash == query_hash; });
}

void PlanMemory::Clear() {
  MutexLock lock(mutex_);
  plans_.clear();
}

std::vector<CachedPlan> PlanMemory::List() {
  MutexLock lock(mutex_);
  std::vector<CachedPlan> list;
  for (const auto& [key, kept] : plans_) {
    list.push_back(kept.value);
  }
  return list;
}

std::optional<IndexFilter> PlanMemory::FindFilter(const std::string& query_hash) {
  MutexLock lock(mutex_);
  auto found = filters_.find(query_hash);
  return found == filters_.end() ? std::nullopt : std::optional<IndexFilter>(found->second.value);
}

Status PlanMemory::SetFilter(const std::string& query_hash, IndexFilter filter) {
  Room room = TakeRoom(&taken_by_filters, kMostOfFilters, SizeOf(filter));
  if (room == nullptr) {
    return {kExceededMemoryLimit, "The index filters of all collections take too much memory"};
  }
  MutexLock lock(mutex_);
  std::erase_if(
      plans_, [&](const auto& entry) { return entry.second.value.shape.query_hash == query_hash; });
  filters_.insert_or_assign(query_hash, Kept<IndexFilter>{std::move(filter), std::move(room)});
  has_filters_.store(true, std::memory_order_release);
  return Status::Ok();
}

bool PlanMemory::ClearFilter(const std::string& query_hash) {
  MutexLock lock(mutex_);
  std::erase_if(
      plans_, [&](const auto& entry) { return entry.second.value.shape.query_hash == query_hash; });
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
    list.push_back(filter.value);
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
    if (!plan.created_from.empty()) {
      out.Append("createdFromQuery", plan.created_from);
      out.Append("cachedPlan", plan.plan);
      out.AppendArray("creationExecStats", plan.trials);
      out.AppendArray("candidatePlanScores", plan.scores);
    }
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
