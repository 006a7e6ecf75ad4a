// SPDX-License-Identifier: Apache-2.0
//
// What the parts of a router work with.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "command/command.h"
#include "quire/bson.h"
#include "router/catalog/catalog.h"
#include "router/cursor/live_cursors.h"
#include "router/flow/workers.h"
#include "router/remote/ask.h"
#include "router/targeted.h"
#include "router/transactions.h"

namespace quire::router {

class Accounts;
class Mirror;

// Safe for concurrent use. What it points to is the router's.
class Core {
 public:
  explicit Core(command::Commands* commands_of) : commands(*commands_of) {}

  command::Commands& commands;
  Catalog* catalog = nullptr;
  Remote* remote = nullptr;
  Workers* workers = nullptr;
  Accounts* accounts = nullptr;
  Mirror* mirror = nullptr;
  Transactions transactions;
  LiveCursors cursors;
  HostsTargeted targeted;
  // Of this process: what it leaves on shards is known by it.
  const std::string boot = bson::ObjectId::Generate().ToHex();
  std::atomic<uint64_t> outs{0};  // temporary collections so far

  engine::Engine& engine() { return commands.engine(); }
  Lanes& lanes() { return remote->lanes; }
  // The row that answers the call.
  const command::Row& RowOf(const request::Call& call) const;

  // Cluster time.
  void AppendClusterTime(bson::Builder* command);
  void NoteReply(bson::View reply);
  bson::Timestamp seen() const;  // the latest operationTime of a shard

 private:
  std::atomic<uint64_t> seen_{0};
};

}  // namespace quire::router
