// SPDX-License-Identifier: Apache-2.0
//
// What the planner remembers of a collection: which plan won for a query shape, and which indexes
// an administrator allows for it.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "plan/query.h"
#include "plan/query_shape.h"
#include "quire/bson.h"
#include "store/catalog.h"

namespace quire::plan {

// A remembered choice.
struct CachedPlan {
  QueryShape shape;
  std::string signature;  // of the plan that won (see SignatureOf)
  uint64_t works = 0;     // what it took to decide
  bool active = false;    // used only after it has won twice
  bson::Date created;
  // What only $planCacheStats shows; empty where that would take much memory.
  bson::Document created_from;  // {query, sort, projection}
  bson::Document plan;          // as explain shows it
  bson::Document trials;        // array: executionStats of the candidates
  bson::Document scores;        // array
};

// Indexes allowed for a shape.
struct IndexFilter {
  bson::Document query;
  bson::Document sort;
  bson::Document projection;
  bson::Document collation;
  bson::Document indexes;  // array of names and key patterns
};

// Safe for concurrent use.
class PlanMemory {
 public:
  // The memory of that collection; plans of an older catalog version are forgotten.
  static PlanMemory& Of(const store::CollectionInfo& collection);

  std::optional<CachedPlan> Find(const std::string& key);
  // Takes in the outcome of a trial: a new plan is inactive, one that wins again with no more
  // works becomes active. Queries may be megabytes long: of those only the choice is remembered,
  // of those whose shape alone is long nothing; and all collections together have one bound.
  void Remember(CachedPlan plan);
  void Forget(const std::string& key);
  void ForgetShape(const std::string& query_hash);
  // Every plan.
  void Clear();
  std::vector<CachedPlan> List();

  // False: FindFilter finds nothing, whatever the shape. Takes no lock.
  bool has_filters() const { return has_filters_.load(std::memory_order_acquire); }
  std::optional<IndexFilter> FindFilter(const std::string& query_hash);
  // Plans of the shape are forgotten. Error: ExceededMemoryLimit when those of all collections take
  // too much.
  Status SetFilter(const std::string& query_hash, IndexFilter filter);
  // False when there was none.
  bool ClearFilter(const std::string& query_hash);
  void ClearFilters();
  std::vector<IndexFilter> ListFilters();

 private:
  static constexpr size_t kMostPlans = 5000;

  // What a plan or filter takes of the room that all of its kind have; given back at its end.
  struct Taken {
    std::atomic<size_t>* room;
    size_t bytes;
  };
  struct GiveBack {
    void operator()(const Taken* taken) const;
  };
  using Room = std::unique_ptr<const Taken, GiveBack>;
  // Null when there is not so much left of `most`.
  static Room TakeRoom(std::atomic<size_t>* room, size_t most, size_t bytes);
  template <typename T>
  struct Kept {
    T value;
    Room room;
  };

  std::atomic<uint64_t> version_{0};
  std::atomic<bool> has_filters_{false};
  Mutex mutex_;
  std::map<std::string, Kept<CachedPlan>> plans_ QUIRE_GUARDED_BY(mutex_);     // by shape.key
  std::map<std::string, Kept<IndexFilter>> filters_ QUIRE_GUARDED_BY(mutex_);  // by query hash
};

// The query hash of such a query on the collection. Errors are those of parsing it.
Result<std::string> QueryHashOf(const store::CollectionPtr& collection, bson::View filter,
                                bson::View sort, bson::View projection, bson::View collation);

// For $planCacheStats: one document per remembered plan.
std::vector<bson::Document> PlanCacheStats(const store::CollectionInfo& collection);

}  // namespace quire::plan
