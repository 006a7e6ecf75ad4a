// SPDX-License-Identifier: Apache-2.0
#include "router/catalog/catalog.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <thread>

#include "base/error_codes.h"
#include "base/log.h"
#include "base/thread.h"
#include "base/try.h"
#include "quire/doc.h"

namespace quire::router {

namespace {

using Clock = std::chrono::steady_clock;
using placement::ChunkBlock;
using placement::CollectionRecord;
using placement::DatabaseRecord;

constexpr std::chrono::seconds kTimeout{10};
// A store that does not answer is left alone for so long by what nobody waits for.
constexpr std::chrono::seconds kRest{1};
constexpr size_t kPage = 1000;

coord::Deadline Soon() { return Clock::now() + kTimeout; }

// What is known of a sharded collection's chunks, to be brought up to date by what changed.
struct KnownChunks {
  placement::Generation generation;
  int64_t layout = 0;
  coord::Revision revision = 0;
  std::map<std::string, placement::Chunks> blocks;  // by key
};

class StoredCatalog final : public Catalog {
 public:
  explicit StoredCatalog(CatalogOptions options)
      : options_(std::move(options)), prefix_("/quire/" + options_.cluster + "/") {}

  ~StoredCatalog() override {
    watcher_.reset();
    {
      MutexLock lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    if (thread_.joinable()) {
      thread_.join();
    }
    for (const auto& job : jobs_) {
      job(Status(kShutdownInProgress, "The router is shutting down"));
    }
  }

  Status Begin() {
    ASSIGN_OR_RETURN(thread_, StartThread([this] { Work(); }));
    ASSIGN_OR_RETURN(watcher_, options_.store->Watch(Key("changed"), [this] { OnHint(); }));
    return Status::Ok();
  }

  RoutePtr Cached(std::string_view ns) override {
    RoutePtr route;
    {
      MutexLock lock(mutex_);
      const auto known = routes_.find(ns);
      if (known == routes_.end()) {
        return nullptr;
      }
      route = known->second.route;
      if (!known->second.doubtful) {
        return route;
      }
      if (!HasItsShards(*route)) {
        return nullptr;
      }
      if (known->second.rereading || Clock::now() < rests_until_) {
        return route;
      }
      known->second.rereading = true;
    }
    Post([this, name = std::string(ns)](const Status& stopped) {
      if (stopped.ok()) {
        ReadAgain(name);
      }
    });
    return route;
  }

  std::shared_ptr<Lookup<RoutePtr>> Find(std::string_view ns) override {
    return Ask<RoutePtr>([this, name = std::string(ns), asked = Posted()]() -> Result<RoutePtr> {
      if (WasAbsent(name, asked)) {
        return NoDatabase(name);
      }
      return Load(name, false, {});
    });
  }

  std::shared_ptr<Lookup<RoutePtr>> FindOrCreate(std::string_view ns,
                                                 placement::ShardName primary) override {
    return Ask<RoutePtr>([this, name = std::string(ns), shard = std::move(primary)] {
      return Load(name, true, shard);
    });
  }

  std::shared_ptr<Lookup<RoutePtr>> Refresh(
      const RoutePtr& seen, std::optional<placement::ShardVersion> wanted) override {
    return Ask<RoutePtr>([this, seen, wanted]() -> Result<RoutePtr> {
      // Another request may have been first.
      RoutePtr now = Undoubted(seen->ns);
      if (now != nullptr && now != seen && Reaches(*now, wanted)) {
        return now;
      }
      ASSIGN_OR_RETURN(now, ReadNamed(seen->ns, false));
      if (now != nullptr && Reaches(*now, wanted) && !SameVersions(*now, *seen)) {
        return now;
      }
      ASSIGN_OR_RETURN(now, ReadNamed(seen->ns, true));
      if (now == nullptr) {
        return NoDatabase(seen->ns);
      }
      return now;
    });
  }

  void Forget(std::string_view ns) override {
    MutexLock lock(mutex_);
    std::erase_if(routes_, [&](const auto& known) {
      return ns.empty() || known.first == ns ||
             (ns.find('.') == std::string_view::npos && DatabaseOf(known.first) == ns);
    });
  }

  std::vector<placement::ShardRecord> Shards() override {
    MutexLock lock(mutex_);
    return shards_;
  }

  std::optional<ClusterRecord> Cluster() override {
    MutexLock lock(mutex_);
    return cluster_;
  }

  bool loaded() override {
    MutexLock lock(mutex_);
    return loaded_;
  }

  std::shared_ptr<Lookup<bool>> ReloadShards() override {
    return Ask<bool>([this] { return LoadShards(); });
  }

  std::shared_ptr<Lookup<bson::Document>> Run(
      std::function<Result<bson::Document>(coord::Store&)> work) override {
    return Ask<bson::Document>([this, work = std::move(work)] { return work(*options_.store); });
  }

  const std::string& prefix() const override { return prefix_; }

 private:
  struct Known {
    RoutePtr route;
    KnownChunks chunks;
    bool doubtful = false;   // a change has been hinted at since it was read
    bool rereading = false;  // the catalog's thread is going to
  };
  using Job = std::function<void(Status stopped)>;

  // Null also for what is doubtful.
  RoutePtr Undoubted(std::string_view ns) {
    MutexLock lock(mutex_);
    const auto known = routes_.find(ns);
    return known == routes_.end() || known->second.doubtful ? nullptr : known->second.route;
  }

  // Whoever has been removed refuses nothing.
  bool HasItsShards(const Route& route) const QUIRE_REQUIRES(mutex_) {
    auto is_there = [this](const placement::ShardName& name) QUIRE_REQUIRES(mutex_) {
      return std::any_of(shards_.begin(), shards_.end(),
                         [&](const placement::ShardRecord& shard) { return shard.name == name; });
    };
    if (!route.sharded()) {
      return is_there(route.database.primary);
    }
    const auto& majors = route.chunks->majors();
    return std::all_of(majors.begin(), majors.end(), [&](const auto& major) QUIRE_REQUIRES(mutex_) {
      return is_there(major.first);
    });
  }

  // What requests go on using until then.
  void ReadAgain(const std::string& ns) {
    {
      MutexLock lock(mutex_);
      if (Clock::now() < rests_until_) {
        MayReread(ns);
        return;
      }
    }
    const Result<RoutePtr> read = Read(ns, false);
    if (!read.ok()) {
      MutexLock lock(mutex_);
      const int code = read.status().code();
      if (code != kDatabaseDropPending && code != kDatabaseDifferCase) {
        rests_until_ = Clock::now() + kRest;
      }
      MayReread(ns);
    }
  }

  void MayReread(const std::string& ns) QUIRE_REQUIRES(mutex_) {
    if (const auto known = routes_.find(ns); known != routes_.end()) {
      known->second.rereading = false;
    }
  }

  // Clients ask for any name: those without chunks, which need not exist, go when they are many.
  void Keep(const std::string& ns, Known known) QUIRE_REQUIRES(mutex_) {
    if (routes_.size() >= kMostRoutes) {
      std::erase_if(routes_, [](const auto& one) { return !one.second.route->sharded(); });
    }
    routes_[ns] = std::move(known);
  }

  template <typename T>
  std::shared_ptr<Lookup<T>> Ask(std::function<Result<T>()> work) {
    auto lookup = std::make_shared<Lookup<T>>();
    Post([lookup, work = std::move(work)](const Status& stopped) {
      lookup->Give(stopped.ok() ? work() : Result<T>(stopped));
    });
    return lookup;
  }

  void Post(Job job) {
    {
      MutexLock lock(mutex_);
      jobs_.push_back(std::move(job));
      ++posted_;
    }
    wake_.notify_all();
  }

  uint64_t Posted() {
    MutexLock lock(mutex_);
    return posted_;
  }

  // Whether a transaction that began when so many had been posted has shown that there is no such
  // database: one serves all who had asked by then. No later one is told.
  bool WasAbsent(std::string_view ns, uint64_t asked) {
    MutexLock lock(mutex_);
    const auto absent = absent_.find(DatabaseOf(ns));
    return absent != absent_.end() && asked < absent->second;
  }

  void Work() {
    while (true) {
      Job job;
      {
        MutexLock lock(mutex_);
        if (jobs_.empty()) {
          absent_.clear();  // whoever asks from here on asks later
        }
        wake_.wait(lock.native(),
                   [this]() QUIRE_REQUIRES(mutex_) { return stopping_ || !jobs_.empty(); });
        if (stopping_) {
          return;
        }
        job = std::move(jobs_.front());
        jobs_.pop_front();
      }
      job(Status::Ok());
    }
  }

  // Something has changed: what is used is read again.
  void OnHint() {
    {
      MutexLock lock(mutex_);
      ++hints_;
      for (auto& [ns, known] : routes_) {
        known.doubtful = true;
      }
    }
    Post([this](const Status& stopped) {
      if (stopped.ok()) {
        if (auto loaded = LoadShards(); !loaded.ok()) {
          log::Warning("SHARDING", "The shards could not be read",
                       {{"error", loaded.status().message()}});
        }
      }
    });
  }

  static Status NoDatabase(std::string_view ns) {
    return {kNamespaceNotFound, "database " + std::string(DatabaseOf(ns)) + " not found"};
  }

  static bool Reaches(const Route& route, const std::optional<placement::ShardVersion>& wanted) {
    if (!wanted || !wanted->sharded) {
      return true;
    }
    if (!route.sharded()) {
      return false;
    }
    const placement::Generation& own = route.chunks->generation();
    if (own != wanted->generation) {
      return wanted->generation < own;
    }
    const auto& majors = route.chunks->majors();
    return std::any_of(majors.begin(), majors.end(),
                       [&](const auto& major) { return major.second >= wanted->major; });
  }

  static bool SameVersions(const Route& a, const Route& b) {
    return a.database.version == b.database.version && a.sharded() == b.sharded() &&
           (!a.sharded() || (a.chunks->generation() == b.chunks->generation() &&
                             a.chunks->majors() == b.chunks->majors()));
  }

  Result<RoutePtr> Load(const std::string& ns, bool create, const placement::ShardName& primary) {
    if (RoutePtr known = Undoubted(ns)) {
      return known;
    }
    const auto read = [&](bool confirmed) {
      return create ? Read(ns, confirmed) : ReadNamed(ns, confirmed);
    };
    ASSIGN_OR_RETURN(RoutePtr route, read(false));
    if (route == nullptr) {
      ASSIGN_OR_RETURN(route, read(true));
    }
    if (route == nullptr && create) {
      RETURN_IF_ERROR(CreateDatabase(DatabaseOf(ns), primary));
      ASSIGN_OR_RETURN(route, read(true));
    }
    if (route == nullptr) {
      return NoDatabase(ns);
    }
    return route;
  }

  // The same as Read. A database of another case is none to whoever makes none.
  Result<RoutePtr> ReadNamed(const std::string& ns, bool confirmed) {
    Result<RoutePtr> route = Read(ns, confirmed);
    if (!route.ok() && route.status().code() == kDatabaseDifferCase) {
      return NoDatabase(ns);
    }
    return route;
  }

  // Null when there is no such database. `confirmed`: as it was in a transaction that began now.
  // DatabaseDifferCase when there is one whose name differs in the case of letters.
  Result<RoutePtr> Read(const std::string& ns, bool confirmed) {
    if (DatabaseOf(ns) == "admin") {
      return AdminRoute(ns);
    }
    const std::string db_key = Key(placement::KeyOfDatabase(DatabaseOf(ns)));
    const bool collection = ns.find('.') != std::string::npos;
    const std::string coll_key = Key(placement::KeyOfCollection(ns));
    std::vector<coord::Entry> entries;
    coord::Revision revision = 0;
    const uint64_t posted = Posted();
    const uint64_t hints = Hints();
    if (confirmed) {
      coord::Transaction transaction;
      transaction.writes = {coord::Put(Key("asked/" + options_.self), "1")};
      transaction.reads = {db_key};
      if (collection) {
        transaction.reads.push_back(coll_key);
      }
      ASSIGN_OR_RETURN(coord::Answer answer, options_.store->Transact(transaction, Soon()));
      entries = std::move(answer.entries);
      revision = answer.position.revision;
    } else {
      for (const std::string& key : {db_key, coll_key}) {
        if (key == coll_key && !collection) {
          break;
        }
        coord::Range range;
        range.prefix = key;
        range.most = 1;
        ASSIGN_OR_RETURN(coord::Listing listing, options_.store->List(range, Soon()));
        revision = listing.position.revision;
        entries.insert(entries.end(), listing.entries.begin(), listing.entries.end());
      }
    }
    auto route = std::make_shared<Route>();
    route->ns = ns;
    bool found = false;
    KnownChunks chunks;
    for (const coord::Entry& entry : entries) {
      if (entry.key == db_key) {
        ASSIGN_OR_RETURN(route->database, placement::DecodeDatabase(entry.value));
        found = true;
      } else if (collection && entry.key == coll_key) {
        ASSIGN_OR_RETURN(CollectionRecord record, placement::DecodeCollection(entry.value));
        if (record.state == CollectionRecord::State::kDropping) {
          return Status(kDatabaseDropPending, "collection " + ns + " is being dropped");
        }
        if (record.state == CollectionRecord::State::kLive) {
          ASSIGN_OR_RETURN(route->chunks, ReadChunks(record, revision, &chunks));
          route->collection = std::move(record);
        }
      }
    }
    if (!found) {
      Forget(ns);
      if (confirmed) {
        MutexLock lock(mutex_);
        absent_.insert_or_assign(std::string(DatabaseOf(ns)), posted);
      }
      return RoutePtr();
    }
    if (route->database.state == DatabaseRecord::State::kDropping) {
      return Status(kDatabaseDropPending, "database " + route->database.name + " is being dropped");
    }
    if (route->database.name != DatabaseOf(ns)) {
      Forget(ns);
      return Status(kDatabaseDifferCase, "db already exists with different case already have: [" +
                                             route->database.name + "] trying to create [" +
                                             std::string(DatabaseOf(ns)) + "]");
    }
    MutexLock lock(mutex_);
    Keep(ns, {route, std::move(chunks), hints != hints_});
    return RoutePtr(route);
  }

  uint64_t Hints() {
    MutexLock lock(mutex_);
    return hints_;
  }

  Result<RoutePtr> AdminRoute(const std::string& ns) {
    std::optional<ClusterRecord> cluster = Cluster();
    if (!cluster) {
      RETURN_IF_ERROR(LoadShards().status());
      cluster = Cluster();
    }
    if (!cluster) {
      return Status(kShardNotFound, "No shards found");
    }
    auto route = std::make_shared<Route>();
    route->ns = ns;
    route->database.name = "admin";
    route->database.primary = cluster->admin_shard;
    route->versioned = false;
    MutexLock lock(mutex_);
    Keep(ns, {route, {}, false});
    return RoutePtr(route);
  }

  Result<placement::ChunkMapPtr> ReadChunks(const CollectionRecord& record,
                                            coord::Revision revision, KnownChunks* known) {
    {
      MutexLock lock(mutex_);
      if (auto there = routes_.find(record.ns); there != routes_.end()) {
        *known = there->second.chunks;
      }
    }
    const bool goes_on = known->generation == record.generation && known->layout == record.layout &&
                         known->revision > 0 && known->revision <= revision;
    if (!goes_on) {
      *known = KnownChunks();
    }
    coord::Range range;
    range.prefix = Key(placement::PrefixOfChunks(record.generation));
    range.at = revision;
    range.modified_since = goes_on ? known->revision : 0;
    range.most = kPage;
    bool more = true;
    while (more) {
      ASSIGN_OR_RETURN(coord::Listing listing, options_.store->List(range, Soon()));
      for (const coord::Entry& entry : listing.entries) {
        ASSIGN_OR_RETURN(ChunkBlock block, placement::DecodeBlock(entry.value));
        known->blocks[entry.key] = std::move(block.chunks);
        range.after = entry.key;
      }
      more = listing.more;
    }
    known->generation = record.generation;
    known->layout = record.layout;
    known->revision = revision;
    placement::Chunks chunks;
    for (const auto& [key, block] : known->blocks) {
      chunks.insert(chunks.end(), block.begin(), block.end());
    }
    std::sort(chunks.begin(), chunks.end(),
              [](const auto& a, const auto& b) { return a->range.min < b->range.min; });
    ASSIGN_OR_RETURN(placement::ShardKeyPattern pattern,
                     placement::ShardKeyPattern::Parse(record.key));
    return placement::ChunkMap::Make(std::move(pattern), record.generation, std::move(chunks),
                                     record.majors);
  }

  Status CreateDatabase(std::string_view name, placement::ShardName primary) {
    if (primary.empty()) {
      ASSIGN_OR_RETURN(primary, LeastUsedShard());
    }
    DatabaseRecord record;
    record.name = name;
    record.primary = std::move(primary);
    record.version = {RandomUuid(), options_.now(), 1};
    const std::string key = Key(placement::KeyOfDatabase(name));
    coord::Transaction transaction;
    transaction.compares = {{key, 0}};
    // Nothing is placed on a shard that goes away meanwhile.
    const std::string shard = Key(placement::KeyOfShard(record.primary));
    coord::Range range;
    range.prefix = shard;
    range.most = 1;
    ASSIGN_OR_RETURN(const coord::Listing listing, options_.store->List(range, Soon()));
    if (!listing.entries.empty() && listing.entries.front().key == shard) {
      transaction.compares.push_back({shard, listing.entries.front().modified});
    }
    transaction.writes = {coord::Put(key, Encode(record)), Changed()};
    // Refused: somebody else has made it, and that one counts; or it is tried again.
    return options_.store->Transact(transaction, Soon()).status();
  }

  Result<placement::ShardName> LeastUsedShard() {
    RETURN_IF_ERROR(LoadShards().status());
    std::map<placement::ShardName, size_t> databases;
    for (const placement::ShardRecord& shard : Shards()) {
      if (!shard.draining) {
        databases[shard.name] = 0;
      }
    }
    if (databases.empty()) {
      return Status(kShardNotFound, "No shards found");
    }
    ASSIGN_OR_RETURN(auto entries, ListAll(*options_.store, Key("dbs/"), Soon()));
    for (const coord::Entry& entry : entries) {
      ASSIGN_OR_RETURN(DatabaseRecord record, placement::DecodeDatabase(entry.value));
      if (auto shard = databases.find(record.primary); shard != databases.end()) {
        ++shard->second;
      }
    }
    return std::min_element(databases.begin(), databases.end(),
                            [](const auto& a, const auto& b) { return a.second < b.second; })
        ->first;
  }

  Result<bool> LoadShards() {
    ASSIGN_OR_RETURN(auto entries, ListAll(*options_.store, Key("shards/"), Soon()));
    std::vector<placement::ShardRecord> shards;
    for (const coord::Entry& entry : entries) {
      ASSIGN_OR_RETURN(placement::ShardRecord record, placement::DecodeShard(entry.value));
      shards.push_back(std::move(record));
    }
    coord::Range range;
    range.prefix = Key(ClusterRecord::kKey);
    range.most = 1;
    ASSIGN_OR_RETURN(coord::Listing listing, options_.store->List(range, Soon()));
    std::optional<ClusterRecord> cluster;
    if (!listing.entries.empty()) {
      ASSIGN_OR_RETURN(cluster, ClusterRecord::Decode(listing.entries.front().value));
    }
    {
      MutexLock lock(mutex_);
      shards_ = shards;
      cluster_ = cluster;
      loaded_ = true;
    }
    if (options_.on_shards) {
      options_.on_shards(shards);
    }
    return true;
  }

  const CatalogOptions options_;
  const std::string prefix_;
  Mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ QUIRE_GUARDED_BY(mutex_) = false;
  std::deque<Job> jobs_ QUIRE_GUARDED_BY(mutex_);
  uint64_t posted_ QUIRE_GUARDED_BY(mutex_) = 0;  // jobs so far
  uint64_t hints_ QUIRE_GUARDED_BY(mutex_) = 0;   // so far
  Clock::time_point rests_until_ QUIRE_GUARDED_BY(mutex_);
  // Databases that were not there when so many had been posted.
  std::map<std::string, uint64_t, std::less<>> absent_ QUIRE_GUARDED_BY(mutex_);
  std::map<std::string, Known, std::less<>> routes_ QUIRE_GUARDED_BY(mutex_);
  std::vector<placement::ShardRecord> shards_ QUIRE_GUARDED_BY(mutex_);
  std::optional<ClusterRecord> cluster_ QUIRE_GUARDED_BY(mutex_);
  bool loaded_ QUIRE_GUARDED_BY(mutex_) = false;
  std::thread thread_;
  std::unique_ptr<coord::Watcher> watcher_;
};

}  // namespace

std::string ClusterRecord::Encode() const {
  return bson::ToCanonicalJson(Doc("clusterId", id, "format", 1, "adminShard", admin_shard));
}

Result<ClusterRecord> ClusterRecord::Decode(std::string_view value) {
  ASSIGN_OR_RETURN(const bson::Document document, bson::Document::FromJson(value));
  const bson::Value id = document["clusterId"];
  const bson::Value shard = document["adminShard"];
  if (id.type() != bson::Type::kObjectId || !shard.is_string()) {
    return Status(kFailedToParse, "the record of the cluster has no clusterId or adminShard");
  }
  return ClusterRecord{id.AsObjectId(), std::string(shard.AsString())};
}

coord::Write Catalog::Changed() {
  return coord::Put(Key("changed"), bson::ObjectId::Generate().ToHex());
}

Result<std::unique_ptr<Catalog>> Catalog::Start(CatalogOptions options) {
  auto catalog = std::make_unique<StoredCatalog>(std::move(options));
  RETURN_IF_ERROR(catalog->Begin());
  return std::unique_ptr<Catalog>(std::move(catalog));
}

Result<std::vector<coord::Entry>> ListAll(coord::Store& store, const std::string& prefix,
                                          coord::Deadline deadline) {
  std::vector<coord::Entry> entries;
  coord::Range range;
  range.prefix = prefix;
  range.most = kPage;
  bool more = true;
  while (more) {
    ASSIGN_OR_RETURN(coord::Listing listing, store.List(range, deadline));
    range.at = listing.position.revision;
    more = listing.more;
    entries.insert(entries.end(), std::make_move_iterator(listing.entries.begin()),
                   std::make_move_iterator(listing.entries.end()));
    if (more) {
      range.after = entries.back().key;
    }
  }
  return entries;
}

}  // namespace quire::router
