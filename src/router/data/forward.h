// SPDX-License-Identifier: Apache-2.0
//
// Commands that one shard runs as they are.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "router/routed.h"

namespace quire::router {

// The command with the documents that came beside it as arrays.
bson::Document Whole(const request::Request& request);

// Sends the command to the primary shard of the namespace's database and answers what that says;
// again when what was known of the namespace is old.
struct ForwardOptions {
  bool create = false;         // the database, when there is none
  bool only_database = false;  // the command names no collection
  // Other collections that it reads there; null: none.
  const std::map<std::string, RoutePtr>* others = nullptr;
  // Set when the collection turns out to be sharded, or one of the others has changed: nothing was
  // run and nothing is answered. Null: the command is the same either way.
  bool* replan = nullptr;
  // Rows of the answer that it says no to are left out. Empty: none is.
  std::function<bool(bson::View row)> shows = nullptr;
};
Task<Status> Forward(Routed& request, std::string ns, ForwardOptions options);

}  // namespace quire::router
