// SPDX-License-Identifier: Apache-2.0
#include "router/data/distribution.h"

#include <set>
#include <utility>
#include <vector>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/number.h"
#include "placement/records.h"
#include "quire/doc.h"
#include "request/reply.h"
#include "router/core.h"
#include "router/data/target.h"

namespace quire::router {

namespace {

constexpr std::chrono::seconds kTimeout{10};

// {names: [namespaces]} of the sharded collections.
Result<bson::Document> ReadNames(coord::Store& store, Catalog& catalog) {
  ASSIGN_OR_RETURN(const auto entries, ListAll(store, catalog.Key("colls/"),
                                               std::chrono::steady_clock::now() + kTimeout));
  bson::Builder out;
  out.BeginArray("names");
  for (const coord::Entry& entry : entries) {
    ASSIGN_OR_RETURN(const auto record, placement::DecodeCollection(entry.value));
    out.Push(record.ns);
  }
  out.End();
  return out.Finish();
}

// What one shard has of a collection.
void AppendShard(const placement::ShardName& shard, bson::View stats, bson::Builder* out) {
  const int64_t count = request::CountIn(stats["count"]);
  const int64_t orphaned = request::CountIn(stats["numOrphanDocs"]);
  const int64_t average = bson::ClampedInt64(stats["avgObjSize"]);
  const int64_t owned = count - orphaned;
  out->PushDocument().Append("shardName", shard);
  request::AppendCount(out, "numOrphanedDocs", orphaned);
  request::AppendCount(out, "numOwnedDocuments", owned);
  request::AppendCount(out, "ownedSizeBytes", average * owned);
  request::AppendCount(out, "orphanedSizeBytes", average * orphaned);
  out->End();
}

// Pushes the row of a collection, unless it is sharded no longer.
Task<Status> PushRow(Routed& request, std::string ns, bson::Builder* rows) {
  Result<RoutePtr> found = co_await request.FindCurrent(ns);
  if (!found.ok() && found.status().code() != kNamespaceNotFound) {
    co_return found.status();
  }
  if (!found.ok() || !(*found)->sharded()) {
    co_return Status::Ok();
  }
  const std::string_view database = DatabaseOf(ns);
  const bson::Document command = Doc("collStats", ns.substr(database.size() + 1));
  std::vector<Asked> asked;
  for (const placement::ShardRecord& shard : request.core.catalog->Shards()) {
    asked.push_back({shard.name, {}, request.Outgoing(command, database, nullptr)});
  }
  Result<std::vector<Heard>> heard = co_await request.Ask(std::move(asked));
  CO_RETURN_IF_ERROR(heard.status());
  CO_RETURN_IF_ERROR(FirstErrorOf(*heard));
  const std::set<placement::ShardName> owners = (*found)->chunks->shards();
  rows->PushDocument().Append("ns", ns).BeginArray("shards");
  for (const Heard& one : *heard) {
    const bson::View stats = *one.reply;
    if (owners.contains(one.shard) || request::CountIn(stats["numOrphanDocs"]) > 0) {
      AppendShard(one.shard, stats, rows);
    }
  }
  rows->End().End();
  co_return Status::Ok();
}

}  // namespace

Task<Result<bson::Document>> WithDistribution(Routed& request) {
  Catalog& catalog = *request.core.catalog;
  std::shared_ptr<Lookup<bson::Document>> read =
      catalog.Run([&catalog](coord::Store& store) { return ReadNames(store, catalog); });
  Status waited = co_await request.Until(read);
  CO_RETURN_IF_ERROR(waited);
  CO_ASSIGN_OR_RETURN(const bson::Document names, read->Get());
  bson::Builder rows;
  rows.BeginArray("$literal");
  for (const bson::Element& name : names["names"].AsArray()) {
    std::string ns(name.value().AsString());
    Status pushed = co_await PushRow(request, std::move(ns), &rows);
    CO_RETURN_IF_ERROR(pushed);
  }
  rows.End();
  const bson::Document source = rows.Finish();
  bson::Builder out;
  for (const bson::Element& field : request.body.view()) {
    if (field.name() != "pipeline") {
      out.Append(field);
      continue;
    }
    out.BeginArray("pipeline").PushDocument().Append("$documents", source).End();
    bool first = true;
    for (const bson::Element& stage : field.value().AsArray()) {
      if (!std::exchange(first, false)) {
        out.Push(stage.value());
      }
    }
    out.End();
  }
  co_return out.Finish();
}

}  // namespace quire::router
