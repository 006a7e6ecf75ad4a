// SPDX-License-Identifier: Apache-2.0
//
// A router over two shards in one process, for tests: JSON in, JSON out.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/error_codes.h"
#include "base/mutex.h"
#include "command/command.h"
#include "command/shard/shard_commands.h"
#include "coord/testing/memory_store.h"
#include "kv/testing/test_store.h"
#include "placement/version_fields.h"
#include "quire/doc.h"
#include "router/router.h"
#include "server/server.h"
#include "store/layout.h"

namespace quire::router {

// A shard that lets everything pass but what comes with another version than it has.
class OpenSharding final : public engine::Sharding {
 public:
  explicit OpenSharding(std::string name) : name_(std::move(name)) {}
  Admission Admit(std::span<const engine::NamespaceVersion> names, bool, bool) override {
    Admission admission;
    MutexLock lock(mutex_);
    for (const engine::NamespaceVersion& name : names) {
      const auto own = versions_.find(name.ns);
      if (name.shard &&
          *name.shard !=
              (own == versions_.end() ? placement::ShardVersion::Unsharded() : own->second)) {
        bson::Builder extra;
        extra.Append("ns", name.ns);
        placement::AppendVersion("vReceived", *name.shard, &extra);
        placement::AppendVersion(
            "vWanted", own == versions_.end() ? placement::ShardVersion() : own->second, &extra);
        admission.refused =
            Status(kStaleConfig, "another version").WithExtra(extra.Finish().bytes());
      } else if (name.shard) {
        versioned_.insert(name.ns);
      }
    }
    return admission;
  }
  void SetVersion(const std::string& ns, const placement::ShardVersion& version) {
    MutexLock lock(mutex_);
    versions_[ns] = version;
  }
  // Whether a request has named the right version of it since the last call.
  bool TookVersionOf(const std::string& ns) {
    MutexLock lock(mutex_);
    return versioned_.erase(ns) > 0;
  }
  std::string name() const override { return name_; }
  bool joined() const override { return true; }
  std::shared_ptr<const engine::OwnedPlacement> PlacementOf(std::string_view ns) const override {
    const auto found = placements.find(ns);
    return found == placements.end() ? nullptr : found->second;
  }
  void Replicated(std::string_view) override {}
  void RoleChanged() override {}
  void Handle(bson::Document, Answer answer) override {
    answer(Status(kCommandNotFound, "nothing is coordinated here"));
  }

  std::map<std::string, std::shared_ptr<const engine::OwnedPlacement>, std::less<>> placements;

 private:
  const std::string name_;
  Mutex mutex_;
  std::map<std::string, placement::ShardVersion, std::less<>> versions_ QUIRE_GUARDED_BY(mutex_);
  std::set<std::string> versioned_ QUIRE_GUARDED_BY(mutex_);
};

// A node that serves on loopback, as the one member of a set.
struct TestShard {
  // With a key, clients log in, and those who know it are members.
  explicit TestShard(const std::string& name, const std::string& key = "") : sharding(name) {
    auto opened = engine::Engine::Open(kv::TestStore(store::KeySections()), {});
    EXPECT_TRUE(opened.ok());
    engine = *std::move(opened);
    command::ServerInfo info;
    info.set_name = name;
    info.access_control = !key.empty();
    commands = std::make_unique<command::ShardCommands>(engine.get(), info);
    EXPECT_TRUE(key.empty() || commands->members.SetKey(key).ok());
    commands->SetSharding(&sharding);
    server::Options options;
    options.port = 0;
    options.grace = std::chrono::milliseconds(100);
    auto started = server::Server::Start(options, commands.get());
    EXPECT_TRUE(started.ok()) << started.status().ToString();
    server = *std::move(started);
    address = name + "/127.0.0.1:" + std::to_string(server->port());
  }

  OpenSharding sharding;
  std::unique_ptr<engine::Engine> engine;
  std::unique_ptr<command::ShardCommands> commands;
  std::unique_ptr<server::Server> server;
  std::string address;
};

// What a client of any of them gets.
inline bson::Document RunOn(request::Handler& handler, request::Client& client,
                            std::string_view json, std::string_view database) {
  auto parsed = bson::Document::FromJson(json);
  EXPECT_TRUE(parsed.ok()) << parsed.status().ToString() << " in " << json;
  request::Request request;
  request.body = *parsed;
  request.database = database;
  std::string reply;
  handler.Run(client, request, &reply);
  return bson::Document::FromTrusted(std::move(reply));
}

// What Connect gets: the tests keep the store.
class SharedStore final : public coord::Store {
 public:
  explicit SharedStore(coord::Store* store) : store_(*store) {}
  Result<coord::Answer> Transact(const coord::Transaction& transaction,
                                 coord::Deadline deadline) override {
    return store_.Transact(transaction, deadline);
  }
  Result<coord::Listing> List(const coord::Range& range, coord::Deadline deadline) override {
    return store_.List(range, deadline);
  }
  Result<std::unique_ptr<coord::Watcher>> Watch(std::string prefix,
                                                std::function<void()> changed) override {
    return store_.Watch(std::move(prefix), std::move(changed));
  }

 private:
  coord::Store& store_;
};

class Cluster {
 public:
  // With a key, clients log in, and those who know it are members.
  explicit Cluster(const std::string& key = "") : s0("s0", key), s1("s1", key) {
    auto opened = engine::Engine::Open(kv::TestStore(store::KeySections()), {});
    EXPECT_TRUE(opened.ok());
    engine_ = *std::move(opened);
    command::ServerInfo info;
    info.router = true;
    info.host = "router:1";
    info.access_control = !key.empty();
    router_ = std::make_unique<Router>(engine_.get(), std::move(info));
    RouterOptions options;
    options.store = std::make_unique<SharedStore>(&store);
    if (!key.empty()) {
      EXPECT_TRUE(router_->members.SetKey(key).ok());
      options.peers.login = {.kind = peer::Login::Kind::kKey, .key = key};
    }
    EXPECT_TRUE(router_->Connect(std::move(options)).ok());
    AddShard(s0);
    AddShard(s1);
  }
  ~Cluster() { router_.reset(); }

  bson::Document Run(std::string_view json, std::string_view database = "db") {
    return RunOn(*router_, client_, json, database);
  }
  bson::Document RunOnShard(TestShard& shard, std::string_view json,
                            std::string_view database = "db") {
    request::Client client;
    return RunOn(*shard.commands, client, json, database);
  }
  // The reply without its logical time.
  std::string Json(std::string_view json, std::string_view database = "db") {
    const bson::Document reply = Run(json, database);
    bson::Builder out;
    for (const bson::Element& e : reply.view()) {
      if (e.name() != "$clusterTime" && e.name() != "operationTime") {
        out.Append(e);
      }
    }
    return bson::ToJson(out.Finish());
  }
  // The first batch of a cursor; the error message when it failed.
  std::string Batch(std::string_view json, std::string_view database = "db") {
    const bson::Document reply = Run(json, database);
    if (!reply["cursor"].is_document()) {
      return bson::ToJson(reply);
    }
    return bson::ToJson(reply["cursor"].AsDocument()["firstBatch"]);
  }
  int Code(std::string_view json, std::string_view database = "db") {
    const bson::Document reply = Run(json, database);
    return reply["ok"].AsDouble() == 1 ? 0 : reply["code"].AsInt32();
  }

  // Shards db.<name> by {x: 1}: what is below 0 lies on s0, the rest on s1. `quietly`: the router
  // is not told.
  void Place(const std::string& name, bool quietly = false) {
    EXPECT_EQ(Code(R"({"enableSharding": "db"})", "admin"), 0);
    for (TestShard* shard : {&s0, &s1}) {
      RunOnShard(*shard, "{\"create\": \"" + name + "\"}");
    }
    const bson::Document key = Doc("x", 1);
    auto pattern = placement::ShardKeyPattern::Parse(key);
    placement::CollectionRecord record;
    record.ns = "db." + name;
    record.key = key;
    record.generation = {bson::ObjectId::Generate(), {1000, ++generation_}};
    record.version = {1, 1};
    record.majors = {{"s0", 1}, {"s1", 1}};
    const bson::Document border = Doc("x", 0);
    const placement::ShardKey middle = placement::ShardKey::Of(border);
    auto low = std::make_shared<placement::Chunk>();
    low->range = {pattern->Lowest(), middle};
    low->shard = "s0";
    low->version = {1, 0};
    auto high = std::make_shared<placement::Chunk>();
    high->range = {middle, pattern->Highest()};
    high->shard = "s1";
    high->version = {1, 1};
    const placement::ChunkBlock block{{low, high}};
    Put(placement::KeyOfBlock(record.generation, block.min()), Encode(block));
    Put(placement::KeyOfCollection(record.ns), Encode(record));
    const auto placed = [&](const placement::KeyRange& range) {
      auto placement = std::make_shared<engine::OwnedPlacement>();
      placement->pattern = *pattern;
      placement->owned = {range};
      return placement;
    };
    s0.sharding.placements[record.ns] = placed(low->range);
    s1.sharding.placements[record.ns] = placed(high->range);
    placement::ShardVersion version;
    version.sharded = true;
    version.generation = record.generation;
    version.major = 1;
    s0.sharding.SetVersion(record.ns, version);
    s1.sharding.SetVersion(record.ns, version);
    if (!quietly) {
      EXPECT_EQ(Code(R"({"flushRouterConfig": 1})", "admin"), 0);
    }
  }

  Router& router() { return *router_; }

  coord::MemoryStore store;
  TestShard s0;
  TestShard s1;

 private:
  // Before the router knows that there are no users, it lets nobody in.
  void AddShard(const TestShard& shard) {
    const std::string command = "{\"addShard\": \"" + shard.address + "\"}";
    int code = Code(command, "admin");
    for (int i = 0; i < 1000 && code == kHostUnreachable; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      code = Code(command, "admin");
    }
    EXPECT_EQ(code, 0);
  }
  void Put(const std::string& key, std::string value) {
    coord::Transaction transaction;
    transaction.writes = {coord::Put(router_->core().catalog->Key(key), std::move(value))};
    auto done = store.Transact(transaction, coord::Deadline::max());
    EXPECT_TRUE(done.ok() && done->done);
  }

  std::unique_ptr<engine::Engine> engine_;
  std::unique_ptr<Router> router_;
  request::Client client_;
  uint32_t generation_ = 0;
};

}  // namespace quire::router
