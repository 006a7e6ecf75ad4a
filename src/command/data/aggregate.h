// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "command/command.h"
#include "request/crud.h"

namespace quire::command {

// Whether the aggregate may be run as it is asked for: its stages in the stable API, in a
// transaction and with its read concern. Routers ask the same before they divide it.
Status CheckAggregate(const Invocation& i, const request::AggregateRequest& request);

}  // namespace quire::command
