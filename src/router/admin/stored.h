// SPDX-License-Identifier: Apache-2.0
//
// What the commands that only a router has share.
#pragma once

#include <functional>

#include "command/command.h"
#include "coord/coord.h"
#include "quire/status.h"
#include "router/catalog/catalog.h"
#include "router/routed.h"

namespace quire::router {

using StoredWork = std::function<Status(coord::Store&, Catalog&)>;
// Runs `work` on the catalog's thread, and waits for it.
Task<Status> RunStored(Routed& request, StoredWork work);

// Waits for a change of which shards there are, which runs already (Catalog::Run), and answers what
// it gives once this router knows them, too.
Task<Status> AnswerWithNewShards(Routed& request, std::shared_ptr<Lookup<bson::Document>> change);

// The function of rows that a routine runs: never called.
Status RunOnShards(command::Invocation& invocation);

}  // namespace quire::router
