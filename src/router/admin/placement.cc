// SPDX-License-Identifier: Apache-2.0
//
// Where the documents of a collection lie: commands that the primary shard of its database
// coordinates.
#include "base/error_codes.h"
#include "router/admin/rows.h"
#include "router/admin/stored.h"
#include "router/core.h"
#include "router/data/schema.h"

namespace quire::router {

namespace {

using auth::Action;
using command::Invocation;

Task<Status> OnNamespace(Routed& request, bool create) {
  const bson::Element target = request.body.view().front();
  if (target.type() != bson::Type::kString) {
    co_return Status(kBadValue, "collection name has invalid type " +
                                    std::string(bson::TypeName(target.type())));
  }
  std::string ns(target.value().AsString());
  const size_t dot = ns.find('.');
  if (dot == 0 || dot == std::string::npos || dot + 1 == ns.size()) {
    co_return Status(kInvalidNamespace, "Invalid namespace specified '" + ns + "'");
  }
  if (DatabaseOf(ns) == "admin") {
    co_return create ? Status(kIllegalOperation, "can't shard collections of the database 'admin'")
                     : Status(kNamespaceNotSharded, "Collection " + ns + " is not sharded.");
  }
  if (!create) {  // what is not there has no primary shard that would say so
    std::string database(DatabaseOf(ns));
    Result<RoutePtr> found = co_await request.FindCurrent(database);
    if (!found.ok() && found.status().code() == kNamespaceNotFound) {
      co_return Status(kNamespaceNotFound, "database " + database + " not found");
    }
    CO_RETURN_IF_ERROR(found.status());
  }
  Status status = co_await Coordinate(request, std::move(ns), create);
  co_return status;
}

Task<Status> ShardCollection(Routed& request) { return OnNamespace(request, true); }
Task<Status> ChangePlacement(Routed& request) { return OnNamespace(request, false); }

template <Action kAction>
Status StateOn(Invocation& i, auth::Needs* needs) {
  const bson::Value name = i.body().front().value();
  needs->Add(kAction, auth::OfNamespace(name.is_string() ? name.AsString() : ""));
  return Status::Ok();
}

}  // namespace

std::span<const command::Row> PlacementRows() {
  using request::kAdminOnly;
  using request::kWriteConcern;
  constexpr uint32_t kFlags = kAdminOnly | kWriteConcern;
  static constexpr command::Row kRows[] = {
      {{"shardCollection", "shardcollection", kFlags, "spreads a collection over the shards"},
       RunOnShards,
       command::Stated(StateOn<Action::enableSharding>)},
      {{"split", "", kFlags, "divides a chunk"},
       RunOnShards,
       command::Stated(StateOn<Action::splitChunk>)},
      {{"mergeChunks", "", kFlags, "makes one chunk of several"},
       RunOnShards,
       command::Stated(StateOn<Action::splitChunk>)},
      {{"mergeAllChunksOnShard", "", kFlags, "makes one chunk of all neighbours on a shard"},
       RunOnShards,
       command::Stated(StateOn<Action::splitChunk>)},
      {{"moveChunk", "movechunk", kFlags, "moves a chunk to another shard"},
       RunOnShards,
       command::Stated(StateOn<Action::moveChunk>)},
      {{"moveRange", "", kFlags, "moves a range to another shard"},
       RunOnShards,
       command::Stated(StateOn<Action::moveChunk>)},
      {{"clearJumboFlag", "", kFlags, "lets a chunk be moved again"},
       RunOnShards,
       command::Stated(StateOn<Action::clearJumboFlag>)},
  };
  return kRows;
}

std::span<const RoutineRow> PlacementRoutines() {
  static constexpr RoutineRow kRows[] = {
      {"shardCollection", ShardCollection}, {"split", ChangePlacement},
      {"mergeChunks", ChangePlacement},     {"mergeAllChunksOnShard", ChangePlacement},
      {"moveChunk", ChangePlacement},       {"moveRange", ChangePlacement},
      {"clearJumboFlag", ChangePlacement},
  };
  return kRows;
}

}  // namespace quire::router
