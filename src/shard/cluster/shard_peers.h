// SPDX-License-Identifier: Apache-2.0
//
// Commands to the primaries of shards.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "peer/pool.h"
#include "placement/records.h"
#include "quire/bson.h"
#include "quire/status.h"

namespace quire::shard {

// "rs0/a:1,b:2" as a:1, b:2.
std::vector<std::string> HostsOf(const std::string& connection_string);

// Safe for concurrent use. Blocks its thread.
class ShardPeers {
 public:
  static Result<std::unique_ptr<ShardPeers>> Start(peer::PoolOptions options);

  // The reply of the shard's primary, which is looked for. The error is that of the reply, or says
  // that no primary was found: whether the command was run is open then.
  Result<bson::Document> Call(const placement::ShardRecord& shard, const bson::Document& command,
                              std::chrono::milliseconds timeout);
  // Told of every reply: it carries the cluster time. Set before the first call.
  std::function<void(bson::View reply)> heard;
  // Calls under way and to come end at once.
  void Stop();

 private:
  explicit ShardPeers(std::unique_ptr<peer::Pool> pool) : pool_(std::move(pool)) {}
  Result<bson::Document> CallHost(const std::string& host, const bson::Document& command,
                                  peer::Deadline deadline);
  std::string TakeLane();
  void GiveLane(const std::string& lane);

  const std::unique_ptr<peer::Pool> pool_;
  Mutex mutex_;
  bool stopped_ QUIRE_GUARDED_BY(mutex_) = false;
  std::set<peer::RequestId> under_way_ QUIRE_GUARDED_BY(mutex_);
  std::map<std::string, std::string> primaries_ QUIRE_GUARDED_BY(mutex_);  // by shard
  std::set<std::string> free_lanes_ QUIRE_GUARDED_BY(mutex_);
  int lanes_ QUIRE_GUARDED_BY(mutex_) = 0;
};

}  // namespace quire::shard
