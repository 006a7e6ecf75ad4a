// SPDX-License-Identifier: Apache-2.0
//
// The stages that tell about the node itself.
#include <functional>
#include <unordered_set>

#include "auth/scram.h"
#include "base/error_codes.h"
#include "base/keyed_hash.h"
#include "base/try.h"
#include "bson/number.h"
#include "engine/read/listing.h"
#include "engine/read/pipeline_run.h"
#include "engine/read/query_shape.h"
#include "engine/read/without_table.h"
#include "engine/sharding.h"
#include "engine/statistics.h"
#include "pipeline/source_options.h"
#include "plan/plan_cache.h"

namespace quire::engine {

namespace {

using Documents = std::vector<bson::Document>;

// For a router.
void AppendShard(bson::Builder* out) {
  if (const Sharding* sharding = RouterScope::Current()) {
    out->Append("shard", sharding->name());
  }
}

Result<Documents> IndexStats(const Operation& operation, const pipeline::Namespace& ns,
                             const bson::Value&) {
  Documents out;
  ASSIGN_OR_RETURN(auto collection, operation.Find(ns.database + "." + ns.collection));
  if (collection == nullptr || collection->is_view()) {
    return out;
  }
  for (const auto& index : collection->indexes) {
    bson::Builder b;
    b.Append("name", index->name).Append("key", index->key_pattern);
    b.Append("host", operation.engine.host);
    b.BeginDocument("accesses")
        .Append("ops", index->state->accesses.load())
        .Append("since", bson::Date{index->state->since_millis})
        .End();
    AppendShard(&b);
    b.Append("spec", index->spec);
    out.push_back(b.Finish());
  }
  return out;
}

Result<Documents> PlanCache(const Operation& operation, const pipeline::Namespace& ns,
                            const bson::Value&) {
  Documents out;
  ASSIGN_OR_RETURN(auto collection, operation.Find(ns.database + "." + ns.collection));
  if (collection == nullptr) {
    return Status(50933, "collection '" + ns.database + "." + ns.collection + "' does not exist");
  }
  if (collection->is_view()) {
    return out;
  }
  for (const bson::Document& stats : plan::PlanCacheStats(*collection)) {
    bson::Builder b;
    b.AppendFields(stats).Append("host", operation.engine.host);
    AppendShard(&b);
    b.Append("planCacheShapeHash", stats.view()["queryHash"]);
    out.push_back(b.Finish());
  }
  return out;
}

// Options given as null are as good as left out; of several one that is not null counts.
bson::Value Wanted(bson::View options, std::string_view name) {
  for (const bson::Element& option : options) {
    if (option.name() == name && option.type() == bson::Type::kDocument) {
      return option.value();
    }
  }
  return bson::Value();
}

void AppendScans(const store::CollectionInfo* collection, bson::Builder* out) {
  int64_t scans = collection != nullptr ? collection->state->scans.load() : 0;
  int64_t tailable = collection != nullptr ? collection->state->tailable_scans.load() : 0;
  out->BeginDocument("queryExecStats")
      .BeginDocument("collectionScans")
      .Append("total", scans + tailable)
      .Append("nonTailable", scans)
      .End()
      .End();
}

Result<Documents> CollStats(const Operation& operation, const pipeline::Namespace& ns,
                            const bson::Value& spec) {
  std::string full = ns.database + "." + ns.collection;
  ASSIGN_OR_RETURN(auto collection, operation.Find(full));
  bson::Value latency = Wanted(spec.AsDocument(), "latencyStats");
  bson::Value storage = Wanted(spec.AsDocument(), "storageStats");
  bson::Value count = Wanted(spec.AsDocument(), "count");
  bson::Value scans = Wanted(spec.AsDocument(), "queryExecStats");
  bool of_views = collection == nullptr && ReadsAsView(nullptr, full);
  bool of_storage = !storage.missing() || !count.missing() || !scans.missing();
  if (of_storage && collection == nullptr && !of_views) {
    return Status(kNamespaceNotFound, "Collection [" + full + "] not found.");
  }
  const bool oplog = collection != nullptr && collection->is_oplog;
  if (of_storage && collection != nullptr && collection->is_view() && !oplog) {
    return Status(kCommandNotSupportedOnView, "Namespace " + full + " is a view, not a collection");
  }
  bson::Builder b;
  b.Append("ns", full);
  AppendShard(&b);
  b.Append("host", operation.engine.host);
  b.Append("localTime", bson::Date{std::chrono::duration_cast<std::chrono::milliseconds>(
                                       std::chrono::system_clock::now().time_since_epoch())
                                       .count()});
  if (!latency.missing() && operation.engine.append_latencies) {
    b.BeginDocument("latencyStats");
    operation.engine.append_latencies(full, latency.AsDocument()["histograms"].AsBool(), &b);
    b.End();
  }
  if (!storage.missing()) {
    ASSIGN_OR_RETURN(int64_t scale, pipeline::StorageScale(storage));
    b.BeginDocument("storageStats");
    AppendStorageStats(operation.engine, collection.get(), scale, &b);
    b.End();
  }
  if (!count.missing()) {
    AppendInteger(&b, "count",
                  of_views ? static_cast<int64_t>(ViewDefinitions(operation, ns.database).size())
                  : oplog  ? LogTotalsOf(operation.engine).entries
                           : collection->state->documents.load());
  }
  if (!scans.missing() && !oplog) {
    AppendScans(collection.get(), &b);
  }
  Documents out;
  out.push_back(b.Finish());
  return out;
}

// An operation as routers show it: {shard, ..., opid: "shard:id"}.
bson::Document OfShard(const std::string& shard, bson::View operation) {
  bson::Builder out;
  out.Append("shard", shard);
  for (const bson::Element& field : operation) {
    if (field.name() == "opid" && field.value().is_number()) {
      out.Append("opid", shard + ":" + std::to_string(bson::ClampedInt64(field.value())));
    } else if (field.name() != "shard") {
      out.Append(field);
    }
  }
  return out.Finish();
}

Result<Documents> CurrentOp(const Operation& operation, const pipeline::Namespace& ns,
                            const bson::Value& spec) {
  if (ns.database != "admin" || !ns.collection.empty()) {
    return Status(kInvalidNamespace,
                  "$currentOp must be run against the 'admin' database with {aggregate: 1}");
  }
  if (!operation.engine.current_operations) {
    return Documents();
  }
  Documents operations = operation.engine.current_operations(operation, spec.AsDocument());
  if (const Sharding* sharding = RouterScope::Current()) {
    for (bson::Document& one : operations) {
      one = OfShard(sharding->name(), one);
    }
  }
  return operations;
}

using Owners = std::unordered_set<std::string, KeyedStringHash, std::equal_to<>>;

// The owners whose sessions are asked for; nothing: those of everybody.
std::optional<Owners> WantedOwners(const Operation& operation, bson::View spec) {
  bson::Value all = spec["allUsers"];
  bson::Value users = spec["users"];
  Owners owners;
  if (users.is_array()) {
    for (const bson::Element& e : users.AsArray()) {
      if (e.type() == bson::Type::kDocument) {
        bson::View user = e.value().AsDocument();
        owners.insert(auth::UserDigest(user["user"].AsString(), user["db"].AsString()));
      }
    }
  }
  if (!owners.empty()) {
    return owners;
  }
  if (operation.caller == nullptr || (all.type() == bson::Type::kBool && all.AsBool())) {
    return std::nullopt;
  }
  owners.insert(operation.caller->digest);
  return owners;
}

Result<Documents> Sessions(const Operation& operation, const pipeline::Namespace&,
                           const bson::Value& spec) {
  Documents out;
  const std::optional<Owners> owners = WantedOwners(operation, spec.AsDocument());
  for (const auto& session : operation.engine.sessions().All()) {
    RETURN_IF_ERROR(operation.op.CheckInterrupt());
    if (owners && !owners->contains(session->owner())) {
      continue;
    }
    bson::Builder b;
    request::AppendSession("_id", session->lsid, &b);
    b.Append("lastUse", bson::Date{session->last_use_wall_millis.load()});
    out.push_back(b.Finish());
  }
  return out;
}

Result<Documents> StoredSessions(const Operation& operation, const pipeline::Namespace& ns,
                                 const bson::Value& spec) {
  if (ns.database != "config" || ns.collection != "system.sessions") {
    return Status(kInvalidNamespace,
                  "$listSessions may only be run against config.system.sessions");
  }
  return Sessions(operation, ns, spec);
}

Result<Documents> Settings(const Operation& operation, const pipeline::Namespace&,
                           const bson::Value& spec) {
  bson::Value wanted = spec.AsDocument()["showDebugQueryShape"];
  bool show_shape = wanted.type() == bson::Type::kBool && wanted.AsBool();
  Documents out;
  for (const QuerySetting& setting : operation.engine.query_settings.All()) {
    bson::Builder b;
    b.Append("queryShapeHash", setting.hash);
    b.Append("settings", setting.settings);
    if (!setting.query.empty()) {
      b.Append("representativeQuery", setting.query);
      if (show_shape) {
        b.Append("debugQueryShape", ShapeOfCommand(setting.query, setting.query["$db"].AsString()));
      }
    }
    out.push_back(b.Finish());
  }
  return out;
}

Result<Documents> Catalogue(const Operation& operation, const pipeline::Namespace& ns,
                            const bson::Value& spec) {
  bson::Value shards = spec.AsDocument()["shards"];
  return ClusterCatalog(operation, ns.database,
                        shards.type() == bson::Type::kBool && shards.AsBool());
}

// No query is sampled and no statistics of queries are kept, as in a MongoDB where nobody has asked
// for either.
Result<Documents> NotCollected(const Operation&, const pipeline::Namespace&, const bson::Value&) {
  return Documents();
}

Result<Documents> OnlyOnRouters(const Operation&, const pipeline::Namespace&, const bson::Value&) {
  return Status(6789101, "The $shardedDataDistribution stage can only be run on router");
}

struct SourceRow {
  std::string_view stage;
  Result<Documents> (*read)(const Operation&, const pipeline::Namespace&, const bson::Value& spec);
};
constexpr SourceRow kSources[] = {
    {"$indexStats", IndexStats},
    {"$collStats", CollStats},
    {"$currentOp", CurrentOp},
    {"$planCacheStats", PlanCache},
    {"$listLocalSessions", Sessions},
    {"$listSessions", StoredSessions},
    {"$querySettings", Settings},
    {"$listClusterCatalog", Catalogue},
    {"$queryStats", NotCollected},
    {"$listSampledQueries", NotCollected},
    {"$shardedDataDistribution", OnlyOnRouters},
};

}  // namespace

Result<std::vector<bson::Document>> SourceDocuments(const Operation& operation,
                                                    const pipeline::Namespace& ns,
                                                    std::string_view stage,
                                                    const bson::Value& spec) {
  for (const SourceRow& row : kSources) {
    if (row.stage == stage) {
      return row.read(operation, ns, spec);
    }
  }
  return Status(40324, "Unrecognized pipeline stage name: '" + std::string(stage) + "'");
}

}  // namespace quire::engine
