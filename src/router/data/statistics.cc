// SPDX-License-Identifier: Apache-2.0
//
// Sizes and counts: of each shard, and their sums.
#include <set>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/number.h"
#include "request/reply.h"
#include "router/core.h"
#include "router/data/forward.h"
#include "router/data/merged.h"
#include "router/data/target.h"
#include "router/rows.h"

namespace quire::router {

namespace {

bool IsSummed(std::string_view name) {
  static const std::set<std::string_view> kSummed = {"collections",
                                                     "views",
                                                     "objects",
                                                     "dataSize",
                                                     "storageSize",
                                                     "indexes",
                                                     "indexSize",
                                                     "totalSize",
                                                     "totalIndexSize",
                                                     "count",
                                                     "size",
                                                     "numOrphanDocs",
                                                     "fsUsedSize",
                                                     "fsTotalSize",
                                                     "freeStorageSize",
                                                     "numObjects",
                                                     "indexFreeStorageSize",
                                                     "totalFreeStorageSize",
                                                     "numExtents"};
  return kSummed.contains(name);
}

// The numbers of all shards together, in the order in which the first one tells them.
void AppendSums(const std::vector<Heard>& heard, bson::Builder* reply) {
  for (const bson::Element& field : heard.front().reply->view()) {
    if (!IsSummed(field.name())) {
      continue;
    }
    double real = 0;
    int64_t whole = 0;
    const bool is_real = field.type() == bson::Type::kDouble;
    for (const Heard& one : heard) {
      const bson::Value value = (*one.reply)[field.name()];
      if (value.is_number()) {
        real += bson::ToDouble(value);
        whole += bson::ClampedInt64(value);
      }
    }
    if (is_real) {
      reply->Append(field.name(), real);
    } else {
      request::AppendCount(reply, field.name(), whole);
    }
  }
}

std::string AddressOf(Routed& request, const placement::ShardName& name) {
  for (const placement::ShardRecord& shard : request.core.catalog->Shards()) {
    if (shard.name == name) {
      return shard.host;
    }
  }
  return name;
}

Task<Status> RouteDatabaseStats(Routed& request) {
  std::vector<Asked> asked;
  for (const placement::ShardRecord& shard : request.core.catalog->Shards()) {
    asked.push_back({shard.name, {}, request.Outgoing(request.body, request.database, nullptr)});
  }
  Result<std::vector<Heard>> heard = co_await request.Ask(std::move(asked));
  CO_RETURN_IF_ERROR(heard.status());
  CO_RETURN_IF_ERROR(FirstErrorOf(*heard));
  if (heard->empty()) {
    co_return request.RunHere();
  }
  bson::Builder& reply = request.call().reply;
  reply.BeginDocument("raw");
  for (const Heard& one : *heard) {
    reply.Append(AddressOf(request, one.shard), *one.reply);
  }
  reply.End().Append("db", request.database);
  AppendSums(*heard, &reply);
  const bson::View first = *heard->front().reply;
  reply.Append("scaleFactor", first["scaleFactor"]);
  co_return Status::Ok();
}

Task<Status> RouteCollectionStats(Routed& request) {
  CO_ASSIGN_OR_RETURN(std::string ns, request.Namespace());
  Result<RoutePtr> found = co_await request.Find(ns, false);
  if (!found.ok() && found.status().code() == kNamespaceNotFound) {
    co_return request.RunHere();
  }
  CO_RETURN_IF_ERROR(found.status());
  RoutePtr route = *found;
  for (int i = 0; i <= kMostRefreshes; ++i) {
    std::set<placement::ShardName> shards = {route->database.primary};
    if (route->sharded()) {
      shards = route->chunks->shards();
    }
    std::vector<Part> parts;
    for (const placement::ShardName& shard : shards) {
      parts.push_back({shard, request.body});
    }
    bool stale = false;
    Result<std::vector<Heard>> heard =
        co_await AskVersioned(request, &route, std::move(parts), &stale);
    CO_RETURN_IF_ERROR(heard.status());
    if (stale) {
      continue;
    }
    CO_RETURN_IF_ERROR(FirstErrorOf(*heard));
    bson::Builder& reply = request.call().reply;
    if (!route->sharded()) {
      reply.Append("sharded", false).Append("primary", route->database.primary);
      request.AppendReply(*heard->front().reply);
      co_return Status::Ok();
    }
    reply.Append("sharded", true).Append("ns", ns);
    AppendSums(*heard, &reply);
    const bson::View first = *heard->front().reply;
    reply.Append("nindexes", first["nindexes"]).Append("scaleFactor", first["scaleFactor"]);
    request::AppendCount(&reply, "nchunks", static_cast<int64_t>(route->chunks->chunks().size()));
    reply.BeginDocument("shards");
    for (const Heard& one : *heard) {
      reply.Append(one.shard, *one.reply);
    }
    reply.End();
    co_return Status::Ok();
  }
  co_return Status(kStaleConfig, "The placement of " + ns + " changes all the time");
}

}  // namespace

std::span<const RoutineRow> StatisticsRoutines() {
  static constexpr RoutineRow kRows[] = {
      {"dbStats", RouteDatabaseStats},
      {"collStats", RouteCollectionStats},
  };
  return kRows;
}

}  // namespace quire::router
