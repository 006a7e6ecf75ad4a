// SPDX-License-Identifier: Apache-2.0
#include "expr/date/calendar.h"

namespace quire::expr::date {

namespace {

// Days since 1970-01-01 of a valid month; any day.
int64_t DaysFromValidMonth(int64_t year, int64_t month, int64_t day) {
  // Years start in March, so the leap day is the last of its year.
  int64_t y = month <= 2 ? year - 1 : year;
  int64_t era = FloorDiv(y, 400);
  int64_t year_of_era = y - era * 400;
  int64_t day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
  int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return era * 146097 + day_of_era - 719468;
}

void CivilFromDays(int64_t days, Fields* out) {
  days += 719468;
  int64_t era = FloorDiv(days, 146097);
  int64_t day_of_era = days - era * 146097;
  int64_t year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  int64_t shifted_month = (5 * day_of_year + 2) / 153;
  out->day = static_cast<int>(day_of_year - (153 * shifted_month + 2) / 5 + 1);
  out->month = static_cast<int>(shifted_month < 10 ? shifted_month + 3 : shifted_month - 9);
  out->year = year_of_era + era * 400 + (out->month <= 2 ? 1 : 0);
}

}  // namespace

int64_t DaysFromCivil(int64_t year, int64_t month, int64_t day) {
  int64_t carry = FloorDiv(month - 1, 12);
  return DaysFromValidMonth(year + carry, month - carry * 12, day);
}

Fields SplitMillis(int64_t local_millis) {
  Fields fields;
  int64_t days = FloorDiv(local_millis, kDay);
  int64_t rest = local_millis - days * kDay;
  CivilFromDays(days, &fields);
  fields.hour = static_cast<int>(rest / kHour);
  fields.minute = static_cast<int>(rest / kMinute % 60);
  fields.second = static_cast<int>(rest / kSecond % 60);
  fields.millis = static_cast<int>(rest % kSecond);
  return fields;
}

int64_t JoinMillis(const Fields& fields) {
  return DaysFromCivil(fields.year, fields.month, fields.day) * kDay + fields.hour * kHour +
         fields.minute * kMinute + fields.second * kSecond + fields.millis;
}

int DayOfWeek(int64_t days) {
  int64_t shifted = days + 4;
  return static_cast<int>(shifted - FloorDiv(shifted, 7) * 7);
}

int DayOfYear(const Fields& fields) {
  return static_cast<int>(DaysFromCivil(fields.year, fields.month, fields.day) -
                          DaysFromCivil(fields.year, 1, 1) + 1);
}

IsoWeekDate IsoWeek(int64_t days) {
  IsoWeekDate out;
  int weekday = DayOfWeek(days);
  out.day = weekday == 0 ? 7 : weekday;
  int64_t thursday = days - out.day + 4;
  Fields fields;
  CivilFromDays(thursday, &fields);
  out.year = fields.year;
  out.week = static_cast<int>((thursday - DaysFromCivil(out.year, 1, 1)) / 7 + 1);
  return out;
}

int64_t DaysFromIsoWeek(int64_t year, int64_t week, int64_t day) {
  // January 4th is always in week 1.
  int64_t fourth = DaysFromCivil(year, 1, 4);
  int weekday = DayOfWeek(fourth);
  int64_t monday = fourth - (weekday == 0 ? 6 : weekday - 1);
  return monday + (week - 1) * 7 + day - 1;
}

int DaysInMonth(int64_t year, int month) {
  return static_cast<int>(DaysFromCivil(year, month + 1, 1) - DaysFromCivil(year, month, 1));
}

}  // namespace quire::expr::date
