// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "quire/bson.h"
#include "request/write_reply.h"
#include "router/routed.h"

namespace quire::router {

// Runs one insert, update or delete statement where it belongs. `array` is "documents", "updates"
// or "deletes"; `command` what stands beside it; `index` its number in the client's request.
Task<Result<request::WriteReply>> RunStatement(Routed& request, std::string ns,
                                               std::string_view array,
                                               const bson::Document& command,
                                               bson::Document statement, int32_t index);

}  // namespace quire::router
