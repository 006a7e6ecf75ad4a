// SPDX-License-Identifier: Apache-2.0
//
// The commands of a node that is, or may become, a shard of a cluster: those of every node, those
// that routers and other shards send, and a look at the versions before anything runs.
#pragma once

#include <atomic>
#include <span>
#include <string_view>

#include "command/command.h"
#include "engine/sharding.h"
#include "quire/bson.h"
#include "quire/status.h"

namespace quire::command {

class ShardCommands final : public Commands {
 public:
  // `engine` outlives it.
  ShardCommands(engine::Engine* engine, ServerInfo info);

  // Null before the node has joined its set, and when it has left it. Outlives the requests that
  // may ask it.
  void SetSharding(engine::Sharding* sharding) { sharding_.store(sharding); }
  engine::Sharding* sharding() const { return sharding_.load(std::memory_order_acquire); }
  bool in_cluster() const override { return sharding() != nullptr && sharding()->joined(); }

  // Runs a command as the server itself, on the calling thread: what is blocked for clients lets it
  // pass. `uuid`: of the collection that a create makes; missing: a new one. The error is that of
  // the reply.
  Result<bson::Document> RunOwn(std::string_view database, const bson::Document& command,
                                const bson::Value& uuid);

 private:
  std::atomic<engine::Sharding*> sharding_{nullptr};
};

// _shardsvrCoordinate, _shardsvrStep...
std::span<const Row> ShardRows();

}  // namespace quire::command
