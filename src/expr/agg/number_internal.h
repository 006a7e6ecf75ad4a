// SPDX-License-Identifier: Apache-2.0
//
// Reading numbers out of operands. Private to expr/agg.
#pragma once

#include <cstdint>

#include "expr/agg/node_internal.h"

namespace quire::expr::agg {

// A number truncated to a long. Errors: 31109 when out of range, 16004 when not a number.
Result<int64_t> CoerceToLong(const Value& value);

}  // namespace quire::expr::agg
