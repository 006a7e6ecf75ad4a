// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic with calendar units in a time zone: adding, counting boundaries, truncating.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "expr/date/time_zone.h"
#include "quire/status.h"

namespace quire::expr::date {

enum class Unit {
  kYear,
  kQuarter,
  kMonth,
  kWeek,
  kDay,
  kHour,
  kMinute,
  kSecond,
  kMillisecond,
};

// "year", "quarter", ... "millisecond".
std::optional<Unit> ParseUnit(std::string_view name);
std::string_view UnitName(Unit unit);
// "monday", "Mon"... in any case; Sunday is 0.
std::optional<int> ParseWeekday(std::string_view name);

// `utc` plus `amount` units; days of month beyond the month's end become its last day; units of a
// day and above keep the local clock. Nothing when the result does not fit.
std::optional<int64_t> Add(int64_t utc, Unit unit, int64_t amount, const TimeZone& zone);
// Boundaries of the unit passed on the way from `start` to `end` (negative when backwards).
int64_t Diff(int64_t start, int64_t end, Unit unit, const TimeZone& zone, int week_start);
// The start of the bin of `size` units that holds `utc`; bins are counted from 2000-01-01 in the
// zone (weeks from the first `week_start` on or after it). Errors 5439002 to 5439006 on overflow.
Result<int64_t> Truncate(int64_t utc, Unit unit, int64_t size, const TimeZone& zone,
                         int week_start);

}  // namespace quire::expr::date
