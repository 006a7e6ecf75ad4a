// SPDX-License-Identifier: Apache-2.0
//
// Sizes and counts: of each shard, and their sums.
#include <algorithm>
#include <map>
#include <set>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/number.h"
#include "request/reply.h"
#include "request/reply_part.h"
#include "router/core.h"
#include "router/data/forward.h"
#include "router/data/merged.h"
#include "router/data/target.h"
#include "router/rows.h"

namespace quire::router {

namespace {

using Names = std::set<std::string_view>;

const Names& SummedOfDatabase() {
  static const Names kNames = {"collections",
                               "views",
                               "objects",
                               "dataSize",
                               "storageSize",
                               "freeStorageSize",
                               "indexes",
                               "indexSize",
                               "indexFreeStorageSize",
                               "totalSize",
                               "totalFreeStorageSize",
                               "fsUsedSize",
                               "fsTotalSize"};
  return kNames;
}

const Names& SummedOfCollection() {
  static const Names kNames = {"count",           "size",          "storageSize", "totalIndexSize",
                               "freeStorageSize", "numOrphanDocs", "totalSize"};
  return kNames;
}

struct Sum {
  double real = 0;
  int64_t whole = 0;
};

Sum SumOf(const std::vector<Heard>& heard, std::string_view name) {
  Sum sum;
  for (const Heard& one : heard) {
    const bson::Value value = (*one.reply)[name];
    if (value.is_number()) {
      sum.real += bson::ToDouble(value);
      sum.whole += bson::ClampedInt64(value);
    }
  }
  return sum;
}

// The sum, as what the first shard tells is typed.
void AppendSum(const std::vector<Heard>& heard, const bson::Element& field, bson::Builder* reply) {
  const Sum sum = SumOf(heard, field.name());
  if (field.type() == bson::Type::kDouble) {
    reply->Append(field.name(), sum.real);
  } else {
    request::AppendCount(reply, field.name(), sum.whole);
  }
}

// What the documents of all shards have on average: their sizes there are not scaled.
double AverageSize(const std::vector<Heard>& heard, std::string_view count) {
  double bytes = 0;
  double documents = 0;
  for (const Heard& one : heard) {
    const bson::Value own = (*one.reply)[count];
    const bson::Value average = (*one.reply)["avgObjSize"];
    if (own.is_number() && average.is_number()) {
      documents += bson::ToDouble(own);
      bytes += bson::ToDouble(own) * bson::ToDouble(average);
    }
  }
  return documents > 0 ? bytes / documents : 0;
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
    reply.Append(AddressOf(request, one.shard), request::AsPart(*one.reply));
  }
  reply.End();
  for (const bson::Element& field : heard->front().reply->view()) {
    const std::string_view name = field.name();
    if (name == "avgObjSize") {
      reply.Append(name, AverageSize(*heard, "objects"));
    } else if (SummedOfDatabase().contains(name)) {
      AppendSum(*heard, field, &reply);
    } else if (name == "db" || name == "scaleFactor") {
      reply.Append(field);
    }
  }
  co_return Status::Ok();
}

// {indexSizes: {name: its size on all shards}, nindexes}
void AppendIndexSizes(const std::vector<Heard>& heard, bson::Builder* reply) {
  std::map<std::string, int64_t> sizes;
  int64_t indexes = 0;
  for (const Heard& one : heard) {
    indexes = std::max(indexes, request::CountIn((*one.reply)["nindexes"]));
    if (const bson::Value own = (*one.reply)["indexSizes"]; own.is_document()) {
      for (const bson::Element& index : own.AsDocument()) {
        sizes[std::string(index.name())] += request::CountIn(index.value());
      }
    }
  }
  reply->BeginDocument("indexSizes");
  for (const auto& [name, size] : sizes) {
    request::AppendCount(reply, name, size);
  }
  reply->End()
      .Append("avgObjSize", AverageSize(heard, "count"))
      .Append("maxSize", SumOf(heard, "maxSize").whole);
  request::AppendCount(reply, "nindexes", indexes);
}

void AppendCollection(const std::vector<Heard>& heard, const Route& route, std::string_view ns,
                      bson::Builder* reply) {
  reply->Append("sharded", route.sharded());
  if (!route.sharded()) {
    reply->Append("primary", route.database.primary);
  }
  const bson::View first = *heard.front().reply;
  reply->Append("capped", first["capped"]).Append("max", first["max"]).Append("ns", ns);
  std::map<std::string_view, bson::Element> summed;  // in the order of their names
  for (const bson::Element& field : first) {
    if (SummedOfCollection().contains(field.name())) {
      summed.emplace(field.name(), field);
    }
  }
  for (const auto& [name, field] : summed) {
    AppendSum(heard, field, reply);
  }
  AppendIndexSizes(heard, reply);
  reply->Append("scaleFactor", first["scaleFactor"]);
  request::AppendCount(reply, "nchunks",
                       route.sharded() ? static_cast<int64_t>(route.chunks->chunks().size()) : 1);
  reply->BeginDocument("shards");
  for (const Heard& one : heard) {
    reply->Append(one.shard, request::AsPart(*one.reply));
  }
  reply->End();
}

Task<Status> RouteCollectionStats(Routed& request) {
  Result<Owners> owners = co_await AskOwners(request);
  CO_RETURN_IF_ERROR(owners.status());
  if (owners->route == nullptr) {
    co_return request.RunHere();
  }
  AppendCollection(owners->heard, *owners->route, owners->route->ns, &request.call().reply);
  co_return Status::Ok();
}

// The numbers of all shards that have a part of it.
Task<Status> RouteDataSize(Routed& request) {
  const bson::Value target = request.body.view().front().value();
  const std::string ns(target.is_string() ? target.AsString() : "");
  Result<RoutePtr> found = co_await request.FindCurrent(ns);
  if (!found.ok() || !(*found)->sharded()) {
    ForwardOptions options{.only_database = true};
    Status forwarded = co_await Forward(request, request.database, options);
    co_return forwarded;
  }
  RoutePtr route = *found;
  std::vector<Asked> asked;
  for (const placement::ShardName& shard : route->chunks->shards()) {
    asked.push_back({shard, {}, request.Outgoing(request.body, request.database, nullptr)});
  }
  Result<std::vector<Heard>> heard = co_await request.Ask(std::move(asked));
  CO_RETURN_IF_ERROR(heard.status());
  CO_RETURN_IF_ERROR(FirstErrorOf(*heard));
  bson::Builder& reply = request.call().reply;
  reply.Append("estimate", (*heard->front().reply)["estimate"]);
  for (const char* name : {"size", "numObjects", "millis"}) {
    reply.Append(name, SumOf(*heard, name).whole);
  }
  co_return Status::Ok();
}

}  // namespace

std::span<const RoutineRow> StatisticsRoutines() {
  static constexpr RoutineRow kRows[] = {
      {"dbStats", RouteDatabaseStats},
      {"collStats", RouteCollectionStats},
      {"dataSize", RouteDataSize},
  };
  return kRows;
}

}  // namespace quire::router
