// SPDX-License-Identifier: Apache-2.0
//
// Reads of views as the aggregations they stand for. No I/O.
#pragma once

#include <string>

#include "engine/read/view.h"
#include "quire/bson.h"
#include "quire/status.h"
#include "router/pipeline/aggregation.h"

namespace quire::router {

// The read of the view `ns`; batch size, read concern and preference are those of `command`.
Aggregation OnView(const std::string& ns, const engine::ViewRead& read, bson::View command);

}  // namespace quire::router
