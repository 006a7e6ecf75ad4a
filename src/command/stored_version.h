// SPDX-License-Identifier: Apache-2.0
//
// admin.system.version: which version wrote the data, as MongoDB's tools look for it.
#pragma once

#include <string_view>

#include "engine/engine.h"
#include "quire/status.h"

namespace quire::command {

inline constexpr std::string_view kVersionNs = "admin.system.version";
inline constexpr std::string_view kVersionId = "featureCompatibilityVersion";

// Fills admin.system.version: the featureCompatibilityVersion, if none that this program knows is
// there, and the authSchema once there are accounts.
Status KeepVersion(engine::Engine& engine);
// The authSchema alone: there are accounts now.
Status KeepAuthSchema(engine::Engine& engine);

}  // namespace quire::command
