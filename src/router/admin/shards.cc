// SPDX-License-Identifier: Apache-2.0
//
// The shards of the cluster: addShard, listShards and what tells about them.
#include <algorithm>
#include <set>

#include "base/error_codes.h"
#include "base/try.h"
#include "command/parsed_row.h"
#include "quire/doc.h"
#include "request/crud.h"
#include "request/fields.h"
#include "request/route.h"
#include "router/admin/records.h"
#include "router/admin/rows.h"
#include "router/admin/stored.h"
#include "router/core.h"
#include "router/remote/errors.h"

namespace quire::router {

namespace {

using auth::Action;
using command::Invocation;

constexpr std::chrono::seconds kTimeout{10};

// --- addShard ---

struct NewShard {
  std::string name;
  std::string address;
  SetAddress set;
};

Result<NewShard> ReadNewShard(bson::View body) {
  NewShard shard;
  const bson::Element target = body.front();
  if (target.type() != bson::Type::kString) {
    return Status(kFailedToParse, "The first argument to addShard must be a string");
  }
  shard.address = target.value().AsString();
  if (shard.address.find('/') == std::string::npos && !shard.address.empty()) {
    shard.set.hosts = {shard.address};  // it may say what set it belongs to
  } else {
    auto set = ParseSetAddress(shard.address);
    if (!set.ok()) {
      return Status(kFailedToParse, set.status().message());
    }
    shard.set = *std::move(set);
  }
  const bson::Value name = body["name"];
  if (name.is_string() && name.AsString().empty()) {
    return Status(kBadValue, "shard name cannot be empty");
  }
  shard.name = name.is_string() ? std::string(name.AsString()) : shard.set.set;
  if (shard.set.set.empty()) {
    return shard;
  }
  if (shard.name.empty() || shard.name == "config" || shard.name.find('/') != std::string::npos) {
    return Status(kBadValue, "'" + shard.name + "' is no name of a shard");
  }
  return shard;
}

// Asks the hosts of a set that is no shard yet, until its primary answers.
Task<Result<bson::Document>> AskPrimary(Routed& request, const SetAddress& set,
                                        const bson::Document& command) {
  const auto until = OpContext::Clock::now() + kTimeout;
  Status last(
      kFailedToSatisfyReadPreference,
      "Could not find host matching read preference { mode: \"primary\" } for set " + set.set);
  while (OpContext::Clock::now() < until) {
    for (const std::string& host : set.hosts) {
      std::vector<Asked> asked;
      asked.push_back({set.set, host, request.Outgoing(Doc("hello", 1), "admin", nullptr)});
      Result<std::vector<Heard>> heard = co_await request.Ask(std::move(asked), AskOptions());
      CO_RETURN_IF_ERROR(heard.status());
      if (!heard->front().reply.ok()) {
        continue;
      }
      const bson::Document& hello = *heard->front().reply;
      const bson::Value name = hello["setName"];
      if (!name.is_string() || name.AsString() != set.set) {
        co_return Status(kOperationFailed,
                         "host " + host + " is not a member of the set " + set.set);
      }
      const bson::Value primary = hello["isWritablePrimary"];
      if (primary.type() != bson::Type::kBool || !primary.AsBool()) {
        continue;
      }
      std::vector<Asked> sent;
      sent.push_back({set.set, host, request.Outgoing(command, "admin", nullptr)});
      Result<std::vector<Heard>> answer = co_await request.Ask(std::move(sent), AskOptions());
      CO_RETURN_IF_ERROR(answer.status());
      co_return answer->front().reply;
    }
    Status slept = co_await request.Sleep(std::chrono::milliseconds(100));
    CO_RETURN_IF_ERROR(slept);
  }
  co_return last;
}

// One transaction: the shard and its databases are new, and everybody learns of it.
Result<bson::Document> WriteShard(coord::Store& store, Catalog& catalog, const NewShard& shard,
                                  const bson::ObjectId& cluster_id, bool first,
                                  const std::vector<std::string>& databases, bson::Timestamp now) {
  Records records(&store, &catalog);
  placement::ShardRecord record;
  record.name = shard.name;
  record.host = shard.address;
  record.topology_time = now;
  coord::Transaction transaction;
  const std::string key = catalog.Key(placement::KeyOfShard(shard.name));
  transaction.compares.push_back({key, 0});
  transaction.writes = {coord::Put(key, Encode(record)), catalog.Changed()};
  ASSIGN_OR_RETURN(coord::Entry count, records.Get(catalog.Key("shardlist")));
  transaction.compares.push_back({catalog.Key("shardlist"), count.modified});
  transaction.writes.push_back(
      coord::Put(catalog.Key("shardlist"),
                 std::to_string(1 + std::strtoll(count.value.c_str(), nullptr, 10))));
  if (first) {
    const std::string cluster = catalog.Key(ClusterRecord::kKey);
    transaction.compares.push_back({cluster, 0});
    transaction.writes.push_back(
        coord::Put(cluster, ClusterRecord{cluster_id, shard.name}.Encode()));
  }
  for (const std::string& name : databases) {
    placement::DatabaseRecord database;
    database.name = name;
    database.primary = shard.name;
    database.version = {RandomUuid(), now, 1};
    const std::string of = catalog.Key(placement::KeyOfDatabase(name));
    transaction.compares.push_back({of, 0});
    transaction.writes.push_back(coord::Put(of, Encode(database)));
  }
  ASSIGN_OR_RETURN(coord::Answer answer,
                   store.Transact(transaction, std::chrono::steady_clock::now() + kTimeout));
  if (answer.done) {
    return Doc("shardAdded", shard.name);
  }
  for (const std::string& name : databases) {
    if (answer.Find(catalog.Key(placement::KeyOfDatabase(name))) != nullptr) {
      return Status(kOperationFailed, "can't add shard '" + shard.address +
                                          "' because a local database '" + name +
                                          "' exists in another shard");
    }
  }
  return Status(kConflictingOperationInProgress, "The shards have changed; try again");
}

std::vector<std::string> NamesIn(const bson::Value& list) {
  std::vector<std::string> names;
  if (list.is_array()) {
    for (const bson::Element& name : list.AsArray()) {
      if (name.type() == bson::Type::kString) {
        names.emplace_back(name.value().AsString());
      }
    }
  }
  return names;
}

bool SameHosts(const placement::ShardRecord& known, const NewShard& wanted) {
  auto set = ParseSetAddress(known.host);
  return set.ok() && set->set == wanted.set.set;
}

// Why a server that was named without a set is no shard.
Task<Status> RefuseHost(Routed& request, std::string host) {
  std::vector<Asked> asked;
  asked.push_back({host, host, request.Outgoing(Doc("hello", 1), "admin", nullptr)});
  Result<std::vector<Heard>> heard = co_await request.Ask(std::move(asked), AskOptions());
  CO_RETURN_IF_ERROR(heard.status());
  const Heard& answer = heard->front();
  if (!answer.reply.ok()) {
    co_return Status(kOperationFailed,
                     "failed to run command { hello: 1 } when attempting to add "
                     "shard " +
                         host + " :: caused by :: " + std::string(answer.reply.status().message()));
  }
  const bson::Value set = (*answer.reply)["setName"];
  const std::string name = set.is_string() ? std::string(set.AsString()) : "";
  co_return Status(kOperationFailed,
                   name.empty()
                       ? "host " + host + " is not a member of a replica set"
                       : "host is part of set " + name +
                             "; use replica set url format <setname>/<server1>,<server2>,...");
}

Task<Status> AddShard(Routed& request) {
  CO_ASSIGN_OR_RETURN(const NewShard shard, ReadNewShard(request.body));
  if (shard.set.set.empty()) {
    Status refused = co_await RefuseHost(request, shard.address);
    co_return refused;
  }
  Catalog& catalog = *request.core.catalog;
  std::shared_ptr<Lookup<bool>> loaded = catalog.ReloadShards();
  Status waited = co_await request.Until(loaded);
  CO_RETURN_IF_ERROR(waited);
  CO_RETURN_IF_ERROR(loaded->Get().status());
  for (const placement::ShardRecord& known : catalog.Shards()) {
    if (SameHosts(known, shard)) {
      if (request.body.view().Has("name") && known.name != shard.name) {
        co_return Status(kIllegalOperation,
                         "the set " + shard.set.set + " is already the shard '" + known.name + "'");
      }
      request.call().reply.Append("shardAdded", known.name);
      co_return Status::Ok();
    }
    if (known.name == shard.name) {
      co_return Status(kIllegalOperation,
                       "a shard named '" + shard.name + "' already exists at " + known.host);
    }
  }
  const std::optional<ClusterRecord> cluster = catalog.Cluster();
  bson::ObjectId id = cluster ? cluster->id : bson::ObjectId::Generate();
  const bson::Document join =
      Doc("_shardsvrJoinCluster", shard.name, "clusterId", id, "first", !cluster.has_value());
  Result<bson::Document> joined = co_await AskPrimary(request, shard.set, join);
  if (!joined.ok() && joined.status().code() == kCommandNotFound) {
    joined = bson::Document();
  }
  CO_RETURN_IF_ERROR(joined.status());
  if (const bson::Value own = (*joined)["clusterId"]; own.type() == bson::Type::kObjectId) {
    id = own.AsObjectId();  // of an addShard that has not come to its end
  }
  const bson::Value users = (*joined)["hasUsers"];
  if (cluster && users.type() == bson::Type::kBool && users.AsBool()) {
    co_return Status(kIllegalOperation,
                     "can't add shard '" + shard.address + "' because it has users of its own");
  }
  std::vector<Asked> notes;
  for (const placement::ShardRecord& known : catalog.Shards()) {
    notes.push_back({known.name,
                     {},
                     request.Outgoing(Doc("_shardsvrNoteShard", shard.name), "admin", nullptr)});
  }
  AskOptions options;
  options.repeatable = true;
  Result<std::vector<Heard>> noted = co_await request.Ask(std::move(notes), options);
  CO_RETURN_IF_ERROR(noted.status());
  for (const Heard& heard : *noted) {
    if (!heard.reply.ok() && heard.reply.status().code() != kCommandNotFound) {
      co_return ForClients(heard.reply.status());
    }
  }
  const std::vector<std::string> databases = NamesIn((*joined)["databases"]);
  const bson::Timestamp now = request.core.engine().clock().Tick();
  // Change streams read it from here on: what it writes as a shard has a later time.
  const bson::Document begin = Doc("_shardsvrNoteShard", shard.name);
  Result<bson::Document> begun = co_await AskPrimary(request, shard.set, begin);
  if (!begun.ok() && begun.status().code() != kCommandNotFound) {
    co_return ForClients(begun.status());
  }
  std::shared_ptr<Lookup<bson::Document>> written =
      catalog.Run([&catalog, shard, id, first = !cluster, databases, now](coord::Store& store) {
        return WriteShard(store, catalog, shard, id, first, databases, now);
      });
  Status status = co_await AnswerWithNewShards(request, std::move(written));
  co_return status;
}

// --- what is known of them ---

Task<Status> ListShards(Routed& request) {
  std::shared_ptr<Lookup<bool>> loaded = request.core.catalog->ReloadShards();
  Status waited = co_await request.Until(loaded);
  CO_RETURN_IF_ERROR(waited);
  bson::Builder& reply = request.call().reply;
  reply.BeginArray("shards");
  for (const placement::ShardRecord& shard : request.core.catalog->Shards()) {
    reply.Push(ShardDocument(shard));
  }
  reply.End();
  co_return Status::Ok();
}

Task<Status> GetShardMap(Routed& request) {
  bson::Builder map;
  bson::Builder hosts;
  bson::Builder addresses;
  const std::optional<ClusterRecord> cluster = request.core.catalog->Cluster();
  for (const placement::ShardRecord& shard : request.core.catalog->Shards()) {
    if (cluster && cluster->admin_shard == shard.name) {  // has what belongs to the whole cluster
      map.Append("config", shard.host);
    }
    map.Append(shard.name, shard.host);
    addresses.Append(shard.host, shard.name);
    if (auto set = ParseSetAddress(shard.host); set.ok()) {
      for (const std::string& host : set->hosts) {
        hosts.Append(host, shard.name);
      }
    }
  }
  const bson::Document by_shard = map.Finish();
  const bson::Document by_host = hosts.Finish();
  const bson::Document by_address = addresses.Finish();
  request.call()
      .reply.Append("map", by_shard)
      .Append("hosts", by_host)
      .Append("connStrings", by_address);
  co_return Status::Ok();
}

Task<Status> GetShardVersion(Routed& request) {
  const bson::Element target = request.body.view().front();
  if (target.type() != bson::Type::kString) {
    co_return request::WrongType("getShardVersion", target, "string");
  }
  const std::string ns(target.value().AsString());
  Result<RoutePtr> route = co_await request.FindCurrent(ns);
  bson::Builder& reply = request.call().reply;
  if (!route.ok() && route.status().code() != kNamespaceNotFound) {
    co_return route.status();
  }
  if (!route.ok() || !(*route)->sharded()) {
    co_return Status(kNamespaceNotSharded, "Collection " + ns + " is not sharded.");
  }
  const placement::ChunkVersion version = (*route)->chunks->version();
  reply.Append("version", bson::Timestamp{version.major, version.minor})
      .Append("versionEpoch", (*route)->chunks->generation().epoch)
      .Append("versionTimestamp", (*route)->chunks->generation().timestamp);
  co_return Status::Ok();
}

Task<Status> FlushRouterConfig(Routed& request) {
  const bson::Value target = request.body.view().front().value();
  request.core.catalog->Forget(target.is_string() ? target.AsString() : "");
  request.call().reply.Append("flushed", true);
  co_return Status::Ok();
}

Task<Status> IsDbGrid(Routed& request) {
  request.call().reply.Append("isdbgrid", 1).Append("hostname", request.core.commands.info().host);
  co_return Status::Ok();
}

Task<Status> ReplicaSetStatus(Routed&) {
  const bson::Document info = Doc("info", "mongos");
  co_return Status(kCommandFailed, "replSetGetStatus is not supported through mongos")
      .WithExtra(info.bytes());
}

Task<Status> EnableSharding(Routed& request) {
  const bson::Element target = request.body.view().front();
  if (target.type() != bson::Type::kString) {
    co_return request::WrongType("enableSharding", target, "string");
  }
  const std::string name(target.value().AsString());
  if (name == "admin" || name == "config" || name == "local") {
    co_return Status(kInvalidOptions, "can't shard '" + name + "' database");
  }
  CO_RETURN_IF_ERROR(request::CheckDatabaseName(name));
  placement::ShardName primary;
  if (const bson::Value given = request.body["primaryShard"]; given.is_string()) {
    primary = given.AsString();
    const auto shards = request.core.catalog->Shards();
    if (std::none_of(shards.begin(), shards.end(),
                     [&](const placement::ShardRecord& shard) { return shard.name == primary; })) {
      co_return Status(kShardNotFound, "shard " + primary + " not found");
    }
  }
  std::shared_ptr<Lookup<RoutePtr>> made = request.core.catalog->FindOrCreate(name, primary);
  Status waited = co_await request.Until(made);
  CO_RETURN_IF_ERROR(waited);
  Result<RoutePtr> route = made->Get();
  CO_RETURN_IF_ERROR(route.status());
  if (!primary.empty() && (*route)->database.primary != primary) {
    co_return Status(kNamespaceExists, "database already created on a different primary shard " +
                                           (*route)->database.primary);
  }
  co_return Status::Ok();
}

Status StateDatabase(Invocation& i, auth::Needs* needs) {
  const bson::Value name = i.body().front().value();
  needs->Add(Action::enableSharding,
             auth::Database(name.is_string() ? std::string(name.AsString()) : ""));
  return Status::Ok();
}

}  // namespace

std::span<const command::Row> ShardRows() {
  using request::kAdminOnly;
  using request::kToPrimary;
  using request::kWrite;
  using request::kWriteConcern;
  static constexpr command::Row kRows[] = {
      {{"addShard", "addshard", kAdminOnly | kWriteConcern, "adds a replica set as a shard"},
       RunOnShards,
       command::OnCluster(Action::addShard)},
      {{"listShards", "", kAdminOnly, "lists the shards"},
       RunOnShards,
       command::OnCluster(Action::listShards)},
      {{"getShardMap", "", kAdminOnly, "the shards and their hosts"},
       RunOnShards,
       command::OnCluster(Action::getShardMap)},
      {{"flushRouterConfig", "", kAdminOnly, "forgets what is known of namespaces"},
       RunOnShards,
       command::OnCluster(Action::flushRouterConfig)},
      {{"isdbgrid", "", 0, "whether this is a router"}, RunOnShards, command::kAnyone},
      {{"replSetGetStatus", "", kAdminOnly, "not of routers"},
       RunOnShards,
       command::OnCluster(Action::replSetGetStatus)},
      {{"enableSharding", "enablesharding", kAdminOnly | kWriteConcern, "makes a database"},
       RunOnShards,
       command::Stated(StateDatabase)},
  };
  return kRows;
}

std::span<const RoutineRow> ShardRoutines() {
  static constexpr RoutineRow kRows[] = {
      {"addShard", AddShard},
      {"listShards", ListShards},
      {"getShardMap", GetShardMap},
      {"getShardVersion", GetShardVersion},
      {"flushRouterConfig", FlushRouterConfig},
      {"isdbgrid", IsDbGrid},
      {"replSetGetStatus", ReplicaSetStatus},
      {"enableSharding", EnableSharding},
  };
  return kRows;
}

}  // namespace quire::router
