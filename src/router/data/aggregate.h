// SPDX-License-Identifier: Apache-2.0
//
// Aggregations over shards: whole on one shard where all that they read and write lies there, else
// divided. aggregate, its explain, mapReduce and reads of views are such.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "pipeline/split.h"
#include "router/data/target.h"
#include "router/pipeline/aggregation.h"
#include "router/routed.h"
#include "run/cursor.h"

namespace quire::router {

// Where everything that a pipeline names lies.
struct Places {
  RoutePtr main;                           // null: its database does not exist
  std::map<std::string, RoutePtr> others;  // those that exist, with what it writes
  RoutePtr sink;                           // null: there is none
};
Task<Result<Places>> FindPlaces(Routed& request, const Aggregation& aggregation,
                                const ParsedPipeline& pipeline);

// How an aggregation runs.
struct Division {
  std::set<placement::ShardName> shards;
  bool whole = false;             // on the one shard
  pipeline::SplitPipeline split;  // unless it is whole
};
Result<Division> Divide(Routed& request, const Aggregation& aggregation,
                        const ParsedPipeline& pipeline, const Places& places);

// The aggregate command for shards with these stages. `rows`: shardRows, or empty.
bson::Document ShardsCommand(bson::View command, const std::vector<bson::Document>& stages,
                             const bson::Argument& rows);

// Runs it divided and gives a cursor on its rows; the views behind it are resolved. What it writes
// is written.
Task<Result<std::shared_ptr<run::Cursor>>> OpenDivided(Routed& request,
                                                       const Aggregation& aggregation,
                                                       const ParsedPipeline& pipeline,
                                                       Places places);
// Runs it and replies with a cursor.
Task<Status> RunAggregation(Routed& request, Aggregation aggregation);

// Explains it.
Task<Status> ExplainAggregation(Routed& request, Aggregation aggregation, std::string verbosity);

}  // namespace quire::router
