// SPDX-License-Identifier: Apache-2.0
//
// Where a command is run, by which shard of a cluster and which member of a replica set: more flags
// of its row (call.h).
#pragma once

#include <cstdint>

#include "request/call.h"

namespace quire::request {

// A row without one of them is local: whoever receives the command answers it, from what it keeps
// itself (its parameters, cursors and sessions).
// By the shards that own what it names: those of a key, or all of them.
inline constexpr uint32_t kByKey = uint32_t{1} << 30;
// By the primary shard of its database, which coordinates the others.
inline constexpr uint32_t kToPrimary = uint32_t{1} << 25;
// By every shard, and the answers are put together.
inline constexpr uint32_t kToShards = uint32_t{1} << 26;
inline constexpr uint32_t kRoutes = kByKey | kToPrimary | kToShards;

// A set's primary runs what writes. A secondary runs what reads when the client's read preference
// allows it, and everything else.
// A read that every member runs, whatever the read preference says.
inline constexpr uint32_t kOnEveryMember = uint32_t{1} << 27;
// No write of documents, and yet the primary's alone.
inline constexpr uint32_t kOnPrimary = uint32_t{1} << 28;

// Where it is run may have a name that no database is given: it removes what is there.
inline constexpr uint32_t kAnyDatabaseName = uint32_t{1} << 29;

static_assert(((kRoutes | kOnEveryMember | kOnPrimary | kAnyDatabaseName) &
               (kDeprecated * 2U - 1)) == 0,
              "a flag of call.h, of which kDeprecated is the last, has the same bit");

}  // namespace quire::request
