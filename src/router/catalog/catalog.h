// SPDX-License-Identifier: Apache-2.0
//
// What a router knows of the cluster: shards, databases, and where the chunks of sharded
// collections lie. Kept in memory, read from the coordination store by a thread of its own.
//
// What is known may be old: requests carry versions, and shards refuse what does not fit theirs.
// Routes of which the store hints that they have changed are therefore used on, also while it
// cannot be reached, and read again beside that. That a database does not exist is never kept, and
// always confirmed by a transaction.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "coord/coord.h"
#include "placement/records.h"
#include "quire/status.h"
#include "router/catalog/route.h"
#include "router/flow/flow.h"

namespace quire::router {

// An answer of the store on its way.
template <typename T>
class Lookup final : public Wait {
 public:
  bool ready() override {
    MutexLock lock(mutex_);
    return result_.has_value();
  }
  void Give(Result<T> result) {
    {
      MutexLock lock(mutex_);
      result_ = std::move(result);
    }
    rung.Ring();
  }
  // REQUIRES: ready().
  Result<T> Get() {
    MutexLock lock(mutex_);
    return *result_;
  }

 private:
  Mutex mutex_;
  std::optional<Result<T>> result_ QUIRE_GUARDED_BY(mutex_);
};

// The cluster itself: {clusterId, created, format, adminShard}.
struct ClusterRecord {
  bson::ObjectId id;
  placement::ShardName admin_shard;

  static constexpr std::string_view kKey = "cluster";
  std::string Encode() const;
  static Result<ClusterRecord> Decode(std::string_view value);
};

struct CatalogOptions {
  coord::Store* store = nullptr;  // outlives the catalog
  std::string cluster = "quire";
  std::string self;  // "host:port" of the router
  // The shards have changed, or were read for the first time.
  std::function<void(const std::vector<placement::ShardRecord>&)> on_shards;
  // Cluster time, for what begins now.
  std::function<bson::Timestamp()> now;
};

// Safe for concurrent use.
class Catalog {
 public:
  // Error: the store cannot be watched.
  static Result<std::unique_ptr<Catalog>> Start(CatalogOptions options);
  virtual ~Catalog() = default;

  // So many namespaces are remembered without being sharded.
  static constexpr size_t kMostRoutes = 10'000;
  // From memory alone, for requests that carry its versions; null when the store has to be asked.
  virtual RoutePtr Cached(std::string_view ns) = 0;
  // As far as no change is hinted at. Errors: NamespaceNotFound when the database does not exist,
  // DatabaseDropPending while it or the collection goes away, those of the store.
  virtual std::shared_ptr<Lookup<RoutePtr>> Find(std::string_view ns) = 0;
  // The same; makes the database when there is none, on `primary` or the shard with the fewest.
  // DatabaseDifferCase when there is one of the same name but for its letters' case.
  virtual std::shared_ptr<Lookup<RoutePtr>> FindOrCreate(std::string_view ns,
                                                         placement::ShardName primary = {}) = 0;
  // A shard has refused `seen` as stale: what is true now, at least the version it wants.
  virtual std::shared_ptr<Lookup<RoutePtr>> Refresh(
      const RoutePtr& seen, std::optional<placement::ShardVersion> wanted) = 0;
  // Forgets what is known of a namespace, of a database ("db"), or everything ("").
  virtual void Forget(std::string_view ns) = 0;

  virtual std::vector<placement::ShardRecord> Shards() = 0;
  virtual std::optional<ClusterRecord> Cluster() = 0;
  // Whether shards and cluster have been read at least once.
  virtual bool loaded() = 0;
  // Reads shards and cluster again.
  virtual std::shared_ptr<Lookup<bool>> ReloadShards() = 0;

  // Runs `work` with the store on the catalog's thread, for commands that read or change records.
  virtual std::shared_ptr<Lookup<bson::Document>> Run(
      std::function<Result<bson::Document>(coord::Store&)> work) = 0;
  // Runs it on a thread for what may take long.
  virtual const std::string& prefix() const = 0;
  // The key below the cluster's prefix.
  std::string Key(std::string_view name) const { return prefix() + std::string(name); }
  // What every change of records writes, too.
  coord::Write Changed();
};

// Every entry below `prefix`, read at one moment.
Result<std::vector<coord::Entry>> ListAll(coord::Store& store, const std::string& prefix,
                                          coord::Deadline deadline);

}  // namespace quire::router
