// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/buckets.h"

#include <chrono>
#include <cstdio>

namespace quire::patterns {

namespace {

using std::chrono::days;
using std::chrono::floor;
using std::chrono::milliseconds;
using std::chrono::sys_days;
using std::chrono::sys_time;
using std::chrono::year_month_day;

using Time = sys_time<milliseconds>;

Time TimeOf(bson::Date date) { return Time(milliseconds(date.millis)); }
bson::Date DateOf(Time time) { return bson::Date{time.time_since_epoch().count()}; }
bson::Date DateOf(sys_days day) { return DateOf(Time(day)); }

std::string Digits(int64_t number, int width) {
  char text[24];
  std::snprintf(text, sizeof text, "%0*lld", width, static_cast<long long>(number));
  return text;
}

}  // namespace

bson::Date BucketStart(bson::Date time, Level level, WeekStart week) {
  const Time at = TimeOf(time);
  const sys_days day = floor<days>(at);
  const year_month_day date(day);
  switch (level) {
    case Level::kMinute:
      return DateOf(Time(floor<std::chrono::minutes>(at)));
    case Level::kHour:
      return DateOf(Time(floor<std::chrono::hours>(at)));
    case Level::kDay:
      return DateOf(day);
    case Level::kWeek: {
      const std::chrono::weekday first(week == WeekStart::kSunday ? 0 : 1);
      return DateOf(day - (std::chrono::weekday(day) - first));
    }
    case Level::kMonth:
      return DateOf(sys_days(date.year() / date.month() / 1));
    case Level::kYear:
      break;
  }
  return DateOf(sys_days(date.year() / 1 / 1));
}

bson::Date NextBucket(bson::Date time, Level level, WeekStart week) {
  const bson::Date start = BucketStart(time, level, week);
  const Time at = TimeOf(start);
  const year_month_day date(floor<days>(at));
  switch (level) {
    case Level::kMinute:
      return DateOf(at + std::chrono::minutes(1));
    case Level::kHour:
      return DateOf(at + std::chrono::hours(1));
    case Level::kDay:
      return DateOf(at + days(1));
    case Level::kWeek:
      return DateOf(at + days(7));
    case Level::kMonth:
      return DateOf(sys_days((date.year() / date.month() + std::chrono::months(1)) / 1));
    case Level::kYear:
      break;
  }
  return DateOf(sys_days((date.year() + std::chrono::years(1)) / 1 / 1));
}

std::string DayKey(bson::Date time) {
  const CivilTime civil = ToCivil(time);
  return MonthKey(time) + Digits(civil.day, 2);
}

std::string MonthKey(bson::Date time) {
  const CivilTime civil = ToCivil(time);
  return Digits(civil.year, 4) + Digits(civil.month, 2);
}

bool IsValid(const CivilTime& civil) {
  const year_month_day date(std::chrono::year(civil.year),
                            std::chrono::month(static_cast<unsigned>(civil.month)),
                            std::chrono::day(static_cast<unsigned>(civil.day)));
  return date.ok() && civil.hour >= 0 && civil.hour < 24 && civil.minute >= 0 &&
         civil.minute < 60 && civil.second >= 0 && civil.second < 60;
}

bson::Date ToDate(const CivilTime& civil) {
  const year_month_day date(std::chrono::year(civil.year),
                            std::chrono::month(static_cast<unsigned>(civil.month)),
                            std::chrono::day(static_cast<unsigned>(civil.day)));
  return DateOf(Time(sys_days(date)) + std::chrono::hours(civil.hour) +
                std::chrono::minutes(civil.minute) + std::chrono::seconds(civil.second));
}

CivilTime ToCivil(bson::Date time) {
  const Time at = TimeOf(time);
  const sys_days day = floor<days>(at);
  const year_month_day date(day);
  const std::chrono::hh_mm_ss clock(floor<std::chrono::seconds>(at - day));
  return {static_cast<int>(date.year()),
          static_cast<int32_t>(static_cast<unsigned>(date.month())),
          static_cast<int32_t>(static_cast<unsigned>(date.day())),
          static_cast<int32_t>(clock.hours().count()),
          static_cast<int32_t>(clock.minutes().count()),
          static_cast<int32_t>(clock.seconds().count())};
}

}  // namespace quire::patterns
