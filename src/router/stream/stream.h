// SPDX-License-Identifier: Apache-2.0
//
// Change streams of a collection, a database or the whole cluster: one of every shard, merged.
#pragma once

#include "request/crud.h"
#include "router/routed.h"

namespace quire::router {

// Whether the pipeline is a change stream.
bool IsStream(const request::AggregateRequest& aggregate);

// Opens it. `aggregate` is parsed from the request's body.
Task<Status> RouteStream(Routed& request, const request::AggregateRequest& aggregate);

}  // namespace quire::router
