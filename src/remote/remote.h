// SPDX-License-Identifier: Apache-2.0
//
// Commands answered by a server somewhere else.
#pragma once

#include <memory>
#include <string>

#include "quire/status.h"
#include "request/request.h"

namespace quire::remote {

// A handler that sends what it is given to the server (replica set, router) of a mongodb:// address
// and hands back its replies. Connections are pooled. A session keeps its place in the pool from
// its first command to endSessions, a cursor its server from its first batch to its last. Commands
// that say nothing of it take the address's write concern, read concern and read preference. A
// write is sent once: whoever is told that the primary has gone away decides whether to repeat it.
// When the server cannot be reached the reply is HostUnreachable, labelled as MongoDB's drivers do.
// Error: FailedToParse when `uri` is none. Nothing is sent yet.
Result<std::unique_ptr<request::Handler>> Connect(const std::string& uri);

}  // namespace quire::remote
