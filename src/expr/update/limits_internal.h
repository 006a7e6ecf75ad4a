// SPDX-License-Identifier: Apache-2.0
//
// How large and how deep a stored document may be.
#pragma once

#include <cstddef>

#include "quire/bson.h"
#include "quire/status.h"

namespace quire::expr::update {

inline constexpr size_t kMaxDocumentSize = size_t{16} << 20;
inline constexpr int kMaxDepth = 180;

// Error 17419, or 17420 for the document of an upsert.
Status CheckSize(size_t size, bool inserting);
// Overflow when `value`, standing `depth` levels deep, reaches below the deepest allowed level.
Status CheckDepth(const bson::Value& value, int depth);

}  // namespace quire::expr::update
