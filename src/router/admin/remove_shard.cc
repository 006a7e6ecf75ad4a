// SPDX-License-Identifier: Apache-2.0
//
// removeShard: a shard is marked as draining, told about until nothing lies on it any more, and
// taken out of the cluster then.
#include <algorithm>
#include <set>

#include "base/error_codes.h"
#include "base/try.h"
#include "router/admin/records.h"
#include "router/admin/rows.h"
#include "router/admin/stored.h"
#include "router/core.h"

namespace quire::router {

namespace {

constexpr std::chrono::seconds kTimeout{10};
constexpr int kMostTries = 10;

coord::Deadline Soon() { return std::chrono::steady_clock::now() + kTimeout; }

// All shards, and the one that is to go.
struct ShardsRead {
  std::vector<placement::ShardRecord> all;
  placement::ShardRecord own;
  coord::Revision revision = 0;  // of its record
};

Result<ShardsRead> ReadShards(coord::Store& store, Catalog& catalog, const std::string& name) {
  ShardsRead read;
  ASSIGN_OR_RETURN(const auto entries, ListAll(store, catalog.Key("shards/"), Soon()));
  for (const coord::Entry& entry : entries) {
    ASSIGN_OR_RETURN(auto shard, placement::DecodeShard(entry.value));
    if (shard.name == name) {
      read.own = shard;
      read.revision = entry.modified;
    }
    read.all.push_back(std::move(shard));
  }
  if (read.revision == 0) {
    return Status(kShardNotFound, "Shard " + name + " not found");
  }
  return read;
}

// Whether some range would have no shard without it.
Status CheckZones(coord::Store& store, Catalog& catalog, const ShardsRead& shards) {
  ASSIGN_OR_RETURN(const auto entries, ListAll(store, catalog.Key("zones/"), Soon()));
  std::set<std::string> used;
  for (const coord::Entry& entry : entries) {
    ASSIGN_OR_RETURN(const auto record, placement::DecodeZone(entry.value));
    used.insert(record.zone.zone);
  }
  for (const std::string& zone : shards.own.tags) {
    const bool others =
        std::any_of(shards.all.begin(), shards.all.end(), [&](const placement::ShardRecord& one) {
          return one.name != shards.own.name && one.shard().IsIn(zone);
        });
    if (used.contains(zone) && !others) {
      return {kZoneStillInUse, "isn't possible to remove shard " + shards.own.name +
                                   " because it is the only one of zone " + zone +
                                   ", which still has chunk ranges"};
    }
  }
  return Status::Ok();
}

Status CheckMayGo(coord::Store& store, Catalog& catalog, const ShardsRead& shards) {
  if (shards.all.size() == 1) {
    return {kIllegalOperation, "Operation not allowed because it would remove the last shard"};
  }
  for (const placement::ShardRecord& one : shards.all) {
    if (one.draining) {
      return {kConflictingOperationInProgress,
              "Can't have more than one draining shard at a time: " + one.name + " is draining"};
    }
  }
  if (const auto cluster = catalog.Cluster(); cluster && cluster->admin_shard == shards.own.name) {
    return {kIllegalOperation,
            "shard " + shards.own.name + " keeps the users and roles of the cluster"};
  }
  return CheckZones(store, catalog, shards);
}

// Writes or deletes the record of the shard, and counts that the list of shards has changed, so
// that nobody places anything by the list before. False: it has changed meanwhile.
Result<bool> WriteOwn(coord::Store& store, Catalog& catalog, const ShardsRead& shards,
                      const placement::ShardRecord* now) {
  Records records(&store, &catalog);
  const std::string key = catalog.Key(placement::KeyOfShard(shards.own.name));
  const std::string list = catalog.Key("shardlist");
  ASSIGN_OR_RETURN(const coord::Entry count, records.Get(list));
  coord::Transaction transaction;
  transaction.compares = {{key, shards.revision}, {list, count.modified}};
  transaction.writes = {
      now == nullptr ? coord::Delete(key) : coord::Put(key, Encode(*now)),
      coord::Put(list, std::to_string(1 + std::strtoll(count.value.c_str(), nullptr, 10))),
      catalog.Changed()};
  ASSIGN_OR_RETURN(const coord::Answer answer, store.Transact(transaction, Soon()));
  return answer.done;
}

// What lies on the shard.
struct Remaining {
  int64_t chunks = 0;
  int64_t jumbo = 0;
  std::vector<std::string> databases;

  bool none() const { return chunks == 0 && databases.empty(); }
};

Result<Remaining> Count(coord::Store& store, Catalog& catalog, const std::string& shard) {
  Remaining remaining;
  ASSIGN_OR_RETURN(const auto databases, ListAll(store, catalog.Key("dbs/"), Soon()));
  for (const coord::Entry& entry : databases) {
    ASSIGN_OR_RETURN(const auto record, placement::DecodeDatabase(entry.value));
    if (record.primary == shard) {
      remaining.databases.push_back(record.name);
    }
  }
  ASSIGN_OR_RETURN(const auto blocks, ListAll(store, catalog.Key("chunks/"), Soon()));
  for (const coord::Entry& entry : blocks) {
    ASSIGN_OR_RETURN(const auto block, placement::DecodeBlock(entry.value));
    for (const placement::ChunkPtr& chunk : block.chunks) {
      if (chunk->shard == shard) {
        ++remaining.chunks;
        remaining.jumbo += chunk->jumbo ? 1 : 0;
      }
    }
  }
  return remaining;
}

void AppendDatabases(const Remaining& remaining, bson::Builder* reply) {
  reply->Append("note",
                "you need to call moveCollection for collectionsToMove and "
                "afterwards movePrimary for the dbsToMove");
  reply->BeginArray("dbsToMove");
  for (const std::string& name : remaining.databases) {
    reply->Push(name);
  }
  reply->End().BeginArray("collectionsToMove").End();
}

Result<bson::Document> Started(const std::string& shard, const Remaining& remaining) {
  bson::Builder reply;
  reply.Append("msg", "draining started successfully")
      .Append("state", "started")
      .Append("shard", shard);
  AppendDatabases(remaining, &reply);
  return reply.Finish();
}

Result<bson::Document> Ongoing(const Remaining& remaining) {
  bson::Builder reply;
  reply.Append("msg", "draining ongoing").Append("state", "ongoing");
  reply.BeginDocument("remaining")
      .Append("chunks", remaining.chunks)
      .Append("dbs", static_cast<int64_t>(remaining.databases.size()))
      .Append("collectionsToMove", int64_t{0})
      .Append("jumboChunks", remaining.jumbo)
      .End();
  AppendDatabases(remaining, &reply);
  return reply.Finish();
}

Result<bson::Document> Remove(coord::Store& store, Catalog& catalog, const std::string& name) {
  for (int i = 0; i < kMostTries; ++i) {
    ASSIGN_OR_RETURN(const ShardsRead shards, ReadShards(store, catalog, name));
    ASSIGN_OR_RETURN(const Remaining remaining, Count(store, catalog, name));
    if (!shards.own.draining) {
      RETURN_IF_ERROR(CheckMayGo(store, catalog, shards));
      placement::ShardRecord draining = shards.own;
      draining.draining = true;
      ASSIGN_OR_RETURN(const bool written, WriteOwn(store, catalog, shards, &draining));
      if (written) {
        return Started(name, remaining);
      }
      continue;
    }
    if (!remaining.none()) {
      return Ongoing(remaining);
    }
    ASSIGN_OR_RETURN(const bool gone, WriteOwn(store, catalog, shards, nullptr));
    if (gone) {
      bson::Builder reply;
      return reply.Append("msg", "removeshard completed successfully")
          .Append("state", "completed")
          .Append("shard", name)
          .Finish();
    }
  }
  return Status(kConflictingOperationInProgress, "The shards change all the time");
}

Task<Status> RemoveShard(Routed& request) {
  const bson::Value target = request.body.view().front().value();
  if (!target.is_string()) {
    co_return Status(kTypeMismatch, "Field 'removeShard' must be of type string");
  }
  const std::string name(target.AsString());
  Catalog& catalog = *request.core.catalog;
  std::shared_ptr<Lookup<bson::Document>> removed =
      catalog.Run([&catalog, name](coord::Store& store) { return Remove(store, catalog, name); });
  Status status = co_await AnswerWithNewShards(request, std::move(removed));
  co_return status;
}

}  // namespace

std::span<const command::Row> RemoveShardRows() {
  static constexpr command::Row kRows[] = {
      {{"removeShard", "removeshard", request::kAdminOnly | request::kWriteConcern,
        "takes a shard out of the cluster"},
       RunOnShards,
       command::OnCluster(auth::Action::removeShard)},
  };
  return kRows;
}

std::span<const RoutineRow> RemoveShardRoutines() {
  static constexpr RoutineRow kRows[] = {
      {"removeShard", RemoveShard},
  };
  return kRows;
}

}  // namespace quire::router
