// SPDX-License-Identifier: Apache-2.0
//
// From a command's filter to the shards that have what it matches.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "placement/target/target.h"
#include "quire/bson.h"
#include "quire/status.h"
#include "router/catalog/route.h"
#include "router/routed.h"

namespace quire::router {

struct Query {
  bson::View filter;
  bson::View collation;  // empty: the collection's
  bson::View let;
};

// Errors: those of a filter or collation that cannot be parsed.
Result<placement::Targets> TargetRead(Routed& request, const Route& route, const Query& query);
Result<placement::WriteTargets> TargetChange(Routed& request, const Route& route,
                                             const Query& query, const placement::WriteWish& wish);

using Routes = std::map<std::string, RoutePtr>;  // by namespace

// Appends {shardVersions: [...]}: what is known of those collections that a pipeline may read or
// write on the shard, beside its own.
void AppendOtherVersions(const Routes& others, const placement::ShardName& shard,
                         bson::Builder* out);

// --- requests to several shards under one table ---

// What is asked of one shard, without session, time and versions.
struct Part {
  placement::ShardName shard;
  bson::Document command;
};

// The same for each of them.
std::vector<Part> ToEach(const std::set<placement::ShardName>& shards,
                         const bson::Document& command);

// Sends the parts with the versions of `route`, and of those of `others` that lie on the part's
// shard. *stale: one of the shards knows better; what is known has been refreshed into *route or
// *others, and the answers mean nothing. `others` null: the parts touch no other collection.
Task<Result<std::vector<Heard>>> AskVersioned(Routed& request, RoutePtr* route,
                                              std::vector<Part> parts, bool* stale,
                                              Routes* others = nullptr);
using PartsOf = std::function<Result<std::vector<Part>>(const Route& route)>;
// Sends what `parts` makes of the route, and again of each better one. Error: also StaleConfig when
// there is no end of that.
Task<Result<std::vector<Heard>>> AskRefreshed(Routed& request, RoutePtr* route,
                                              const PartsOf& parts);
// What every shard with a part of the collection that the command names answers to it; no route:
// its database is not there.
struct Owners {
  RoutePtr route;
  std::vector<Heard> heard;
};
Task<Result<Owners>> AskOwners(Routed& request);

// Whether all of the collection lies on the shard.
bool LiesOn(const Route& route, const placement::ShardName& shard);

// The first error, as clients see it; Ok when all have answered well.
Status FirstErrorOf(const std::vector<Heard>& heard);

// How often a request is sent again because what was known of its namespace was old.
inline constexpr int kMostRefreshes = 10;
// StaleConfig, when that was not enough.
Status AlwaysStale(const std::string& ns);

}  // namespace quire::router
