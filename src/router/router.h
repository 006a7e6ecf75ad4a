// SPDX-License-Identifier: Apache-2.0
//
// The router of a sharded cluster: answers every command a client sends, with what its shards say.
//
// It is the commands of a node over an engine in memory: parsing, access, sessions, cursors and
// everything about the process itself are a node's. That engine holds config.* and the users as
// they are in the cluster; commands about data go to shards.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "command/command.h"
#include "coord/coord.h"
#include "peer/pool.h"
#include "router/core.h"

namespace quire::router {

struct RouterOptions {
  std::unique_ptr<coord::Store> store;
  peer::PoolOptions peers;
  std::string cluster = "quire";  // its name in the store
};

class Router final : public command::Commands {
 public:
  // `engine` is empty, lies in memory and outlives it.
  Router(engine::Engine* engine, command::ServerInfo info);
  ~Router() override;

  // Before the first request, once info().host is known.
  Status Connect(RouterOptions options);
  // Ends what Connect began. No request is under way any more.
  void Disconnect();

  Core& core() { return core_; }

 private:
  Core core_;
  std::unique_ptr<coord::Store> store_;
  std::unique_ptr<peer::Pool> pool_;
  std::unique_ptr<Lanes> lanes_;
  std::unique_ptr<Members> members_;
  std::unique_ptr<Catalog> catalog_;
  std::unique_ptr<Remote> remote_;
  std::unique_ptr<Workers> workers_;
  std::unique_ptr<Mirror> mirror_;
  std::unique_ptr<Accounts> accounts_;
};

}  // namespace quire::router
