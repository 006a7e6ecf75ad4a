// SPDX-License-Identifier: Apache-2.0
//
// What a request says about the placement of the namespaces it touches.
#pragma once

#include <vector>

#include "engine/sharding.h"
#include "quire/status.h"
#include "request/call.h"

namespace quire::command {

struct RequestVersions {
  // Empty: there is nothing to look at.
  std::vector<engine::NamespaceVersion> names;
  bool given = false;  // it names versions: for routers and shards alone
};

// Error: BadValue for what is no version.
Result<RequestVersions> ReadVersions(const request::Call& call);

}  // namespace quire::command
