// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quire/bson.h"
#include "request/write_reply.h"
#include "router/routed.h"

namespace quire::router {

// Statements of one kind about one namespace.
struct StatementRun {
  std::string ns;
  std::string_view array;  // "documents", "updates" or "deletes"
  bson::Document command;  // what stands beside them
  bool ordered = true;
  // With their numbers in the client's request.
  std::vector<std::pair<int32_t, bson::Document>> statements;
};

// Runs them where they belong. What has an index in the reply has the client's.
Task<Result<request::WriteReply>> RunStatements(Routed& request, const StatementRun& run);

}  // namespace quire::router
