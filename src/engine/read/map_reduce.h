// SPDX-License-Identifier: Apache-2.0
//
// mapReduce as a pipeline: the query, the pairs of each document grouped by key and reduced, the
// finalized result, and $out or $merge.
#pragma once

#include <string_view>

#include "engine/engine.h"
#include "request/map_reduce.h"

namespace quire::engine {

// Appends the array "results", or "result": where they were written. Error:
// CommandNotSupportedOnView, those of the scripts.
Status MapReduce(const Operation& operation, std::string_view database,
                 const request::MapReduceRequest& request, bson::Builder* reply);

// {pipeline: [...]}: what it stands for, with $out or $merge to `database`.
bson::Document MapReducePipeline(std::string_view database,
                                 const request::MapReduceRequest& request);
// What its scripts share, without stored functions.
std::shared_ptr<const js::Scope> MapReduceScope(const request::MapReduceRequest& request);
// Appends "result": where they were written.
void AppendMapReduceTarget(const request::MapReduceRequest& request, bson::Builder* reply);

// Appends the fields of explain's reply.
Status ExplainMapReduce(const Operation& operation, std::string_view database,
                        const request::MapReduceRequest& request, std::string_view verbosity,
                        bson::Builder* reply);

}  // namespace quire::engine
