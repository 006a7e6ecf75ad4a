// SPDX-License-Identifier: Apache-2.0
//
// Dates as text and back, with MongoDB's format specifiers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "expr/date/time_zone.h"
#include "quire/status.h"

namespace quire::expr::date {

// The full and the short English name of a month. REQUIRES: 1 <= month <= 12.
std::string_view MonthName(int month);
std::string_view MonthAbbreviation(int month);

// Checks a $dateToString format: 18535 (lone '%' at the end), 18536 (unknown specifier).
Status CheckFormat(std::string_view format);
// Checks a $dateFromString format: the same with the specifiers that can be read.
Status CheckParseFormat(std::string_view format);

// Error 18537 when the year is outside 0-9999. REQUIRES: CheckFormat(format) is ok.
Result<std::string> Format(std::string_view format, int64_t utc_millis, const TimeZone& zone);
// "2020-01-01T00:00:00.000Z".
Result<std::string> FormatIso(int64_t utc_millis);

// Reads `text` by `format`. ConversionFailure when it does not match, when a needed part is
// missing, or when it names a zone and `zone` was given too.
// REQUIRES: CheckParseFormat(format) is ok.
Result<int64_t> ParseWithFormat(std::string_view text, std::string_view format,
                                const TimeZone* zone);
// Reads a date in any of the usual notations: ISO 8601 and its relatives, "July 4, 2017",
// "4 Jul 2017 10:30 PM", "20170704T103000Z", "@seconds". ConversionFailure otherwise.
Result<int64_t> ParseFree(std::string_view text, const TimeZone* zone);

}  // namespace quire::expr::date
