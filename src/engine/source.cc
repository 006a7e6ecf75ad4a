// SPDX-License-Identifier: Apache-2.0
//
// The stages that tell about the node itself.
#include "base/error_codes.h"
#include "base/try.h"
#include "engine/pipeline_run.h"
#include "engine/statistics.h"
#include "plan/plan_cache.h"

namespace quire::engine {

namespace {

using Documents = std::vector<bson::Document>;

Result<Documents> IndexStats(const Operation& operation, const plan::Namespace& ns,
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
    b.Append("spec", index->spec);
    out.push_back(b.Finish());
  }
  return out;
}

Result<Documents> PlanCache(const Operation& operation, const plan::Namespace& ns,
                            const bson::Value&) {
  Documents out;
  ASSIGN_OR_RETURN(auto collection, operation.Find(ns.database + "." + ns.collection));
  if (collection == nullptr || collection->is_view()) {
    return out;
  }
  for (const bson::Document& stats : plan::PlanCacheStats(*collection)) {
    bson::Builder b;
    b.AppendFields(stats).Append("host", operation.engine.host);
    out.push_back(b.Finish());
  }
  return out;
}

Result<Documents> CollStats(const Operation& operation, const plan::Namespace& ns,
                            const bson::Value& spec) {
  std::string full = ns.database + "." + ns.collection;
  ASSIGN_OR_RETURN(auto collection, operation.Find(full));
  if (collection == nullptr) {
    return Status(kNamespaceNotFound, "Collection [" + full + "] not found.");
  }
  bson::View wanted = spec.AsDocument();
  if (collection->is_view() && (wanted.Has("storageStats") || wanted.Has("count"))) {
    return Status(kCommandNotSupportedOnView, "Namespace " + full + " is a view, not a collection");
  }
  bson::Builder b;
  b.Append("ns", full).Append("host", operation.engine.host);
  b.Append("localTime", bson::Date{std::chrono::duration_cast<std::chrono::milliseconds>(
                                       std::chrono::system_clock::now().time_since_epoch())
                                       .count()});
  if (wanted.Has("storageStats")) {
    b.BeginDocument("storageStats");
    AppendStorageStats(operation.engine, collection.get(), 1, &b);
    b.End();
  }
  if (wanted.Has("count")) {
    b.Append("count", collection->state->documents.load());
  }
  if (wanted.Has("latencyStats")) {
    b.BeginDocument("latencyStats");
    for (std::string_view kind : {"reads", "writes", "commands", "transactions"}) {
      b.BeginDocument(kind).Append("latency", int64_t{0}).Append("ops", int64_t{0}).End();
    }
    b.End();
  }
  Documents out;
  out.push_back(b.Finish());
  return out;
}

Result<Documents> CurrentOp(const Operation& operation, const plan::Namespace& ns,
                            const bson::Value& spec) {
  if (ns.database != "admin" || !ns.collection.empty()) {
    return Status(kInvalidNamespace,
                  "$currentOp must be run against the 'admin' database with {aggregate: 1}");
  }
  return operation.engine.current_operations
             ? operation.engine.current_operations(spec.AsDocument())
             : Documents();
}

Result<Documents> Sessions(const Operation& operation, const plan::Namespace&, const bson::Value&) {
  Documents out;
  for (const auto& session : operation.engine.sessions().All()) {
    bson::Builder b;
    b.BeginDocument("_id").Append("id", bson::Value::Binary(session->lsid, 4)).End();
    b.Append("lastUse", bson::Date{session->last_use_wall_millis.load()});
    out.push_back(b.Finish());
  }
  return out;
}

struct SourceRow {
  std::string_view stage;
  Result<Documents> (*read)(const Operation&, const plan::Namespace&, const bson::Value& spec);
};
constexpr SourceRow kSources[] = {
    {"$indexStats", IndexStats},    {"$collStats", CollStats},        {"$currentOp", CurrentOp},
    {"$planCacheStats", PlanCache}, {"$listLocalSessions", Sessions}, {"$listSessions", Sessions},
};

}  // namespace

Result<std::vector<bson::Document>> SourceDocuments(const Operation& operation,
                                                    const plan::Namespace& ns,
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
