// SPDX-License-Identifier: Apache-2.0
//
// A node's gates on a shard: a request passes with the versions it names, or waits, or is refused.
#pragma once

#include <atomic>
#include <memory>

#include "command/node_backend.h"
#include "command/node_running.h"
#include "engine/sharding.h"

namespace quire::command {

class ShardBackend final : public NodeBackend {
 public:
  // Both outlive it. *sharding is null while the node is no member of a set.
  ShardBackend(Commands* commands, const std::atomic<engine::Sharding*>* sharding)
      : NodeBackend(commands), commands_(*commands), sharding_(*sharding) {}

  std::unique_ptr<run::Running> Begin(const run::Arrival& arrival) override;
  Status AllowHere(run::Running& running) override;
  Status Run(run::Running& running) override;

  // While it lives, what this thread runs is the server's own.
  class OwnScope {
   public:
    OwnScope();
    ~OwnScope();
    OwnScope(const OwnScope&) = delete;
    OwnScope& operator=(const OwnScope&) = delete;
  };

 private:
  struct ShardRunning;
  Status CheckVersions(ShardRunning& running, engine::Sharding& sharding);
  static void TakeTime(ShardRunning& running);

  Commands& commands_;
  const std::atomic<engine::Sharding*>& sharding_;
};

}  // namespace quire::command
