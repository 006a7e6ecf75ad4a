// SPDX-License-Identifier: Apache-2.0
//
// Reading dates and time zones out of operands. Private to expr/agg.
#pragma once

#include <cstdint>
#include <optional>

#include "expr/agg/node_internal.h"
#include "expr/date/time_zone.h"

namespace quire::expr::agg {

// Milliseconds of a date, timestamp or object id; error 16006 for others.
Result<int64_t> CoerceToDate(const Value& value);
bool IsDateLike(const Value& value);

// The zone operand `i` names: UTC when it is not given, nothing when it is null. Error 40517
// when it is no string, 40485 when there is no such zone.
Result<std::optional<date::TimeZone>> ReadTimeZone(const Call& call, size_t i, EvalContext& eval);

}  // namespace quire::expr::agg
