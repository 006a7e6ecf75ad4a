// SPDX-License-Identifier: Apache-2.0
//
// A member of a replica set as a shard of a cluster: the implementation of engine/sharding.h.
#pragma once

#include <atomic>
#include <condition_variable>
#include <future>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "coord/coord.h"
#include "engine/engine.h"
#include "engine/sharding.h"
#include "peer/pool.h"
#include "quire/status.h"
#include "shard/change/context.h"
#include "shard/change/reservations.h"
#include "shard/cluster/cluster_store.h"
#include "shard/cluster/shard_peers.h"
#include "shard/crew.h"
#include "shard/state/name_table.h"
#include "shard/state/state_log.h"

namespace quire::shard {

struct ShardOptions {
  std::string set_name;
  std::string cluster = "quire";
  run::FailPoints* fail_points = nullptr;  // outlive the shard
};

class Shard final : public engine::Sharding {
 public:
  // `engine` outlives it, and its replication is set. Errors: what keeps the state from being read
  // or threads from being started.
  static Result<std::unique_ptr<Shard>> Start(engine::Engine& engine,
                                              std::unique_ptr<coord::Store> store,
                                              peer::PoolOptions peers, LocalRunner local,
                                              ShardOptions options);
  // Nothing is answered any more.
  ~Shard() override;

  Admission Admit(std::span<const engine::NamespaceVersion> names, bool writes,
                  bool direct) override;
  std::string name() const override;
  bool joined() const override { return joined_.load(std::memory_order_acquire); }
  std::shared_ptr<const engine::OwnedPlacement> PlacementOf(std::string_view ns) const override;
  void Replicated(std::string_view ns) override;
  void RoleChanged() override;
  void Handle(bson::Document command, Answer answer) override;

 private:
  Shard(engine::Engine& engine, std::unique_ptr<coord::Store> store,
        std::unique_ptr<ShardPeers> peers, LocalRunner local, const ShardOptions& options);
  Status Load();
  void AdoptLater(std::vector<NameTable::Unknown> unknown);
  // From the store, on the primary; elsewhere its log brings what the primary has adopted.
  Status AdoptOne(const NameTable::Unknown& unknown);
  Status AskPrimaryToAdopt(const NameTable::Unknown& unknown);
  // Until everything up to the time is applied here.
  Status AwaitLog(bson::Timestamp time);
  template <typename T>
  Status Await(const std::future<T>& answer) const;
  // A row of the commands that members of the cluster send.
  struct Internal;
  static const Internal* FindInternal(std::string_view name);
  Result<bson::Document> Run(const Internal& row, bson::View command);
  Result<bson::Document> RunCoordinated(bson::View command);
  Result<bson::Document> RunStep(bson::View command);
  Result<bson::Document> RunTakeAnswers(bson::View command);
  Result<bson::Document> RunMedian(bson::View command);
  Result<bson::Document> RunAdopt(bson::View command);
  Result<bson::Document> RunEndBuilds(bson::View command);
  Result<bson::Document> RunNothing(bson::View command);
  Result<bson::Document> Join(bson::View command);
  Result<bson::Document> NoteShard(bson::View command);
  Context MakeContext();
  void NameDocuments();
  void Watch();
  void ResumeLeft(uint64_t epoch);
  // Until the shard ends: what other shards have left, and what is left to undo.
  void LookAround();
  void GoOn(const std::string& id);

  engine::Engine& engine_;
  std::atomic<bool> stopping_{false};
  StateLog log_;
  NameTable names_;
  ClusterStore store_;
  std::unique_ptr<ShardPeers> peers_;
  const LocalRunner local_;
  const std::string leader_key_;
  run::FailPoints* const fail_points_;
  Reservations reservations_;
  std::atomic<bool> joined_{false};
  mutable Mutex mutex_;
  std::string shard_ QUIRE_GUARDED_BY(mutex_);  // its name
  bson::ObjectId cluster_id_ QUIRE_GUARDED_BY(mutex_);
  std::set<std::string> adopting_ QUIRE_GUARDED_BY(mutex_);  // ids
  uint64_t resumed_epoch_ QUIRE_GUARDED_BY(mutex_) = 0;
  std::set<std::string> left_open_ QUIRE_GUARDED_BY(mutex_);  // see Context
  std::unique_ptr<Bell::Listener> role_ QUIRE_GUARDED_BY(mutex_);
  Crew coordinators_{8, 56};
  Crew steps_{8};
  Crew adoptions_{2};
  Crew takeovers_{2, 14};
  Crew answers_{2};  // other shards' steps wait for these
  std::condition_variable ends_;
  std::thread around_;
};

}  // namespace quire::shard
