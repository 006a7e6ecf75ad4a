// SPDX-License-Identifier: Apache-2.0
//
// What changes of collections work with on a shard.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "engine/engine.h"
#include "quire/bson.h"
#include "quire/status.h"
#include "run/fail_point.h"
#include "shard/cluster/cluster_store.h"
#include "shard/cluster/shard_peers.h"
#include "shard/state/name_table.h"
#include "shard/state/state_log.h"

namespace quire::shard {

// Runs a command on this node as the server itself: nothing that is blocked for clients keeps it
// out. `uuid`: of the collection that a create makes; missing: a new one. Gives the reply, or its
// error.
using LocalRunner = std::function<Result<bson::Document>(
    std::string_view database, const bson::Document& command, const bson::Value& uuid)>;

// The request of a client that a change is made for.
struct ClientRequest {
  std::string id;  // the same however often it is sent; empty: none was given
  std::chrono::steady_clock::time_point until = std::chrono::steady_clock::time_point::max();
};

struct Context {
  engine::Engine& engine;
  StateLog& log;
  NameTable& names;
  ClusterStore& store;
  ShardPeers& peers;
  LocalRunner local;
  std::string shard;              // its name in the cluster
  std::string leader_key;         // of its set, in the coordination store
  std::function<void()> changed;  // requests that wait may go on
  // A change is undone but for shards that do not answer: somebody goes on with it by and by. Given
  // the first name that it changes.
  std::function<void(const std::string& id)> left_open;
  const std::atomic<bool>& stopping;
  run::FailPoints* fail_points = nullptr;
  ClientRequest client = {};
};

// A step of a change is at `place`, where a fail point may hold it, for tests of what happens when
// a process ends there.
void Reach(Context& context, std::string_view kind, std::string_view place);

// The local collection with that uuid under that name; null when it is not there.
store::CollectionPtr FindLocal(Context& context, std::string_view ns, std::string_view uuid);
// Makes the collection what it is on the database's primary shard: {uuid, options, indexes}. Error:
// NamespaceExists when another one has its name.
Status MakeEqual(Context& context, std::string_view ns, bson::View description);
// {uuid, options, indexes} of a local collection.
bson::Document Describe(const store::CollectionInfo& collection);
// Drops the collection with that uuid, if it is there.
Status DropLocal(Context& context, std::string_view ns, std::string_view uuid);
// Waits until no transaction that has written the collection is open. False after `timeout`.
bool DrainTransactions(Context& context, std::string_view ns, std::chrono::milliseconds timeout);

// Into the log of a majority, and from there into memory.
Status SaveName(Context& context, NameRecord record);
// From here on the log names the documents of the record's collection by its shard key, or by _id
// alone when it has none.
void NameDocumentsOf(engine::Engine& engine, const NameRecord& record);

std::string_view CollectionOf(std::string_view ns);
std::string_view UuidBytes(const store::Uuid& uuid);

}  // namespace quire::shard
