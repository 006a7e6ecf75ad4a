// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "router/routed.h"

namespace quire::router {

// Runs a command on the database config.
Task<Status> RouteConfig(Routed& request);

}  // namespace quire::router
