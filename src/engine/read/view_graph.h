// SPDX-License-Identifier: Apache-2.0
//
// Which views read which: by their source and by $lookup, $graphLookup and $unionWith.
#pragma once

#include <string>
#include <string_view>

#include "engine/engine.h"
#include "pipeline/stage.h"

namespace quire::engine {

// What a view `ns` on `source` with these stages would read does not come back to it.
// GraphContainsCycle when it does, ViewDepthLimitExceeded beyond 20 levels.
Status CheckNewView(const Operation& operation, const std::string& ns, const std::string& source,
                    const pipeline::Stages& stages);
// The same for the views that the stages of a query read.
Status CheckViewsRead(const Operation& operation, const pipeline::Stages& stages);

}  // namespace quire::engine
