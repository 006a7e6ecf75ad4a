// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic of time intervals, in UTC. Intervals are half-open: [from, to).
#pragma once

#include <cstdint>
#include <string>

#include "quire/bson.h"

namespace quire::patterns {

enum class Level { kMinute, kHour, kDay, kWeek, kMonth, kYear };
enum class WeekStart { kSunday, kMonday };

// The start of the interval that holds `time`, and of the one after it.
bson::Date BucketStart(bson::Date time, Level level, WeekStart week = WeekStart::kSunday);
bson::Date NextBucket(bson::Date time, Level level, WeekStart week = WeekStart::kSunday);

// "20001010", "200010".
std::string DayKey(bson::Date time);
std::string MonthKey(bson::Date time);

struct CivilTime {
  int32_t year = 1970;
  int32_t month = 1;  // 1 to 12
  int32_t day = 1;
  int32_t hour = 0;
  int32_t minute = 0;
  int32_t second = 0;
};
// Whether the fields name a time that exists (second 60 does not).
bool IsValid(const CivilTime& civil);
// REQUIRES: IsValid(civil).
bson::Date ToDate(const CivilTime& civil);
CivilTime ToCivil(bson::Date time);

}  // namespace quire::patterns
