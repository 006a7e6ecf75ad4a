// SPDX-License-Identifier: Apache-2.0
//
// Ends cursors on shards that nobody wants any more.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "quire/bson.h"
#include "router/remote/lanes.h"

namespace quire::router {

// Whoever calls it waits for no answer: a host that does not hear of it ends the cursor by its age.
// `collection` is as getMore names it, `session` the fields that getMores carry.
void EndCursor(Lanes* lanes, const std::string& host, std::string_view database,
               std::string_view collection, int64_t cursor, bson::View session);

}  // namespace quire::router
