// SPDX-License-Identifier: Apache-2.0
//
// The parts of a date while it is being read from text. Private to expr/date.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "expr/date/time_zone.h"
#include "quire/status.h"

namespace quire::expr::date {

struct DateParts {
  std::optional<int64_t> year, month, day, day_of_year;
  std::optional<int64_t> iso_year, iso_week, iso_day;
  std::optional<int64_t>
      weekday;  // 0: Sunday; the date is the first such day from the given one on
  std::optional<int64_t> hour, minute, second, millis;
  std::optional<int64_t> offset;  // milliseconds east of UTC
};

// UTC milliseconds. ConversionFailure when the date is incomplete or does not exist, or names a
// zone although `zone` is one other than UTC.
Result<int64_t> JoinParts(const DateParts& parts, std::string_view text, const TimeZone* zone);

}  // namespace quire::expr::date
