// SPDX-License-Identifier: Apache-2.0
//
// The shard keys that a local collection's documents have, by a look at all of them.
#pragma once

#include <functional>
#include <string_view>

#include "placement/shard_key.h"
#include "quire/status.h"
#include "shard/change/context.h"

namespace quire::shard {

// Calls `take` with the key of every document in the range, until it gives false.
Status ReadKeysInRange(Context& context, std::string_view ns,
                       const placement::ShardKeyPattern& pattern, const placement::KeyRange& range,
                       const std::function<bool(placement::ShardKey)>& take);

}  // namespace quire::shard
