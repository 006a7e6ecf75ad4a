// SPDX-License-Identifier: Apache-2.0
//
// The options of the stages that the engine answers ($collStats, $currentOp...).
#pragma once

#include <cstdint>
#include <string_view>

#include "quire/bson.h"
#include "quire/status.h"

namespace quire::pipeline {

// Whether `spec` is an argument the stage takes; its own error codes when not.
Status CheckSourceOptions(std::string_view stage, const bson::Value& spec);

// The unit of sizes in $collStats' option storageStats. REQUIRES: a document.
Result<int64_t> StorageScale(const bson::Value& storage_stats);

}  // namespace quire::pipeline
