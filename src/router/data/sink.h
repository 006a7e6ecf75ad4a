// SPDX-License-Identifier: Apache-2.0
//
// $out and $merge of a pipeline that runs in the router: the documents are sent to the shards of
// the target, which write them with the same stage.
#pragma once

#include "quire/bson.h"
#include "router/catalog/route.h"
#include "router/routed.h"
#include "run/cursor.h"

namespace quire::router {

// Reads the cursor to its end into the target. `sink`: the stage as it was written.
Task<Status> WriteSink(Routed& request, run::Cursor& cursor, RoutePtr target, bson::View sink);

}  // namespace quire::router
