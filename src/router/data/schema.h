// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "router/routed.h"

namespace quire::router {

// Lets the primary shard of the database coordinate the command. `ns`: what it is about, "db" or
// "db.collection"; `create`: the database is made when there is none.
Task<Status> Coordinate(Routed& request, std::string ns, bool create);

}  // namespace quire::router
