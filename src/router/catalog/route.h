// SPDX-License-Identifier: Apache-2.0
//
// What a router knows of one namespace.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "placement/chunk_map.h"
#include "placement/records.h"
#include "quire/bson.h"

namespace quire::router {

// One namespace at one moment. Immutable.
struct Route {
  std::string ns;
  placement::DatabaseRecord database;
  bool versioned = true;  // false: of a database that always lies where it does (admin)
  // Of a sharded collection; without them it lies on the database's primary shard alone.
  std::optional<placement::CollectionRecord> collection;
  placement::ChunkMapPtr chunks;

  bool sharded() const { return chunks != nullptr; }
};
using RoutePtr = std::shared_ptr<const Route>;

// Appends what a request to the shard says it knows: shardVersion, and databaseVersion of what is
// not sharded.
void AppendVersions(const Route& route, const placement::ShardName& shard, bson::Builder* out);
// Only the version of the database, for commands that name no collection.
void AppendDatabaseVersion(const Route& route, bson::Builder* out);

// The version a shard wants in its refusal (StaleConfig); nothing when it names none.
std::optional<placement::ShardVersion> WantedVersion(bson::View error);

// For what is new.
placement::Uuid RandomUuid();

// "db.c" cut at its first dot.
std::string_view DatabaseOf(std::string_view ns);

}  // namespace quire::router
