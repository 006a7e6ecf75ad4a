// SPDX-License-Identifier: Apache-2.0
//
// The proleptic Gregorian calendar on milliseconds since 1970, without time zones: pass local
// milliseconds (UTC plus the zone's offset).
#pragma once

#include <cstdint>

namespace quire::expr::date {

constexpr int64_t kSecond = 1000;
constexpr int64_t kMinute = 60 * kSecond;
constexpr int64_t kHour = 60 * kMinute;
constexpr int64_t kDay = 24 * kHour;

constexpr int64_t FloorDiv(int64_t a, int64_t b) {
  return a / b - ((a % b != 0 && (a % b < 0) != (b < 0)) ? 1 : 0);
}

struct Fields {
  int64_t year = 1970;
  int month = 1;  // 1-12
  int day = 1;    // 1-31
  int hour = 0;
  int minute = 0;
  int second = 0;
  int millis = 0;
};

struct IsoWeekDate {
  int64_t year = 1970;
  int week = 1;  // 1-53
  int day = 1;   // Monday is 1
};

// Days since 1970-01-01. `month` and `day` may be out of their ranges: they carry over.
int64_t DaysFromCivil(int64_t year, int64_t month, int64_t day);
Fields SplitMillis(int64_t local_millis);
// The inverse; fields out of range carry over.
int64_t JoinMillis(const Fields& fields);

// Sunday is 0.
int DayOfWeek(int64_t days);
// 1-366.
int DayOfYear(const Fields& fields);
IsoWeekDate IsoWeek(int64_t days);
// Days since 1970-01-01 of an ISO week date; week and day carry over.
int64_t DaysFromIsoWeek(int64_t year, int64_t week, int64_t day);
int DaysInMonth(int64_t year, int month);

}  // namespace quire::expr::date
