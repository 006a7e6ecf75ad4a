// SPDX-License-Identifier: Apache-2.0
//
// What takes a collection away does not wait for its index builds: they are ended, with
// IndexBuildAborted, as on one server.
#pragma once

#include <string>
#include <string_view>

#include "shard/change/context.h"

namespace quire::shard {

// Ends the builds that are under way on this shard. `id` is that of a collection, or of a database:
// of all its collections.
void EndBuildsHere(Context& context, std::string_view id);
// The same on all shards, as far as they answer.
void EndBuilds(Context& context, const std::string& id);

}  // namespace quire::shard
