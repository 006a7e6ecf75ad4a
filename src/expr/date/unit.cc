// SPDX-License-Identifier: Apache-2.0
#include "expr/date/unit.h"

#include <algorithm>
#include <cctype>
#include <string>

#include "expr/date/calendar.h"

namespace quire::expr::date {

namespace {

struct UnitRow {
  std::string_view name;
  Unit unit;
  int64_t millis;  // 0: varies
};
constexpr UnitRow kUnits[] = {
    {"year", Unit::kYear, 0},
    {"quarter", Unit::kQuarter, 0},
    {"month", Unit::kMonth, 0},
    {"week", Unit::kWeek, 7 * kDay},
    {"day", Unit::kDay, kDay},
    {"hour", Unit::kHour, kHour},
    {"minute", Unit::kMinute, kMinute},
    {"second", Unit::kSecond, kSecond},
    {"millisecond", Unit::kMillisecond, 1},
};

const UnitRow& RowOf(Unit unit) { return kUnits[static_cast<int>(unit)]; }

int MonthsIn(Unit unit) {
  return unit == Unit::kYear ? 12 : unit == Unit::kQuarter ? 3 : unit == Unit::kMonth ? 1 : 0;
}

// Far beyond every date, small enough to calculate with.
constexpr int64_t kMaxMonths = int64_t{12} * 400'000'000;
// The day 2000-01-01, a Saturday.
constexpr int64_t kReferenceDay = 10957;

std::optional<int64_t> AddMonths(int64_t utc, int64_t months, const TimeZone& zone) {
  Fields f = SplitMillis(zone.ToLocal(utc));
  int64_t index = f.year * 12 + f.month - 1 + months;
  f.year = FloorDiv(index, 12);
  if (f.year > 292278994 || f.year < -292275055) {
    return std::nullopt;
  }
  f.month = static_cast<int>(index - f.year * 12 + 1);
  f.day = std::min(f.day, DaysInMonth(f.year, f.month));
  return zone.ToUtc(JoinMillis(f));
}

int64_t WeekIndex(int64_t days, int week_start) {
  int64_t since = (DayOfWeek(days) - week_start + 7) % 7;
  return FloorDiv(days - since, 7);
}

}  // namespace

std::optional<Unit> ParseUnit(std::string_view name) {
  for (const UnitRow& row : kUnits) {
    if (row.name == name) {
      return row.unit;
    }
  }
  return std::nullopt;
}

std::string_view UnitName(Unit unit) { return RowOf(unit).name; }

std::optional<int> ParseWeekday(std::string_view name) {
  static constexpr std::string_view kDays[] = {"sunday",   "monday", "tuesday", "wednesday",
                                               "thursday", "friday", "saturday"};
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (int i = 0; i < 7; ++i) {
    if (lower == kDays[i] || lower == kDays[i].substr(0, 3)) {
      return i;
    }
  }
  return std::nullopt;
}

std::optional<int64_t> Add(int64_t utc, Unit unit, int64_t amount, const TimeZone& zone) {
  int64_t scaled = 0;
  if (int months = MonthsIn(unit)) {
    if (__builtin_mul_overflow(amount, int64_t{months}, &scaled) || scaled > kMaxMonths ||
        scaled < -kMaxMonths) {
      return std::nullopt;
    }
    return AddMonths(utc, scaled, zone);
  }
  int64_t result = 0;
  if (__builtin_mul_overflow(amount, RowOf(unit).millis, &scaled)) {
    return std::nullopt;
  }
  if (unit == Unit::kWeek || unit == Unit::kDay) {
    int64_t local = zone.ToLocal(utc);
    return __builtin_add_overflow(local, scaled, &result) ? std::nullopt
                                                          : std::optional(zone.ToUtc(result));
  }
  return __builtin_add_overflow(utc, scaled, &result) ? std::nullopt : std::optional(result);
}

int64_t Diff(int64_t start, int64_t end, Unit unit, const TimeZone& zone, int week_start) {
  int64_t from = zone.ToLocal(start);
  int64_t to = zone.ToLocal(end);
  switch (unit) {
    case Unit::kYear:
    case Unit::kQuarter:
    case Unit::kMonth: {
      Fields a = SplitMillis(from);
      Fields b = SplitMillis(to);
      int months = MonthsIn(unit);
      return FloorDiv(b.year * 12 + b.month - 1, months) -
             FloorDiv(a.year * 12 + a.month - 1, months);
    }
    case Unit::kWeek:
      return WeekIndex(FloorDiv(to, kDay), week_start) -
             WeekIndex(FloorDiv(from, kDay), week_start);
    case Unit::kDay:
      return FloorDiv(to, kDay) - FloorDiv(from, kDay);
    case Unit::kHour: {
      int64_t shift = zone.OffsetAt(start);
      return FloorDiv(end + shift, kHour) - FloorDiv(start + shift, kHour);
    }
    case Unit::kMinute:
    case Unit::kSecond:
    case Unit::kMillisecond:
      return FloorDiv(end, RowOf(unit).millis) - FloorDiv(start, RowOf(unit).millis);
  }
  return 0;
}

Result<int64_t> Truncate(int64_t utc, Unit unit, int64_t size, const TimeZone& zone,
                         int week_start) {
  int64_t bin = 0;
  if (int months = MonthsIn(unit)) {
    if (__builtin_mul_overflow(size, int64_t{months}, &bin) || bin > kMaxMonths) {
      return Status(5439006, "dateTrunc unsupported binSize value " + std::to_string(size));
    }
    Fields f = SplitMillis(zone.ToLocal(utc));
    int64_t index = FloorDiv((f.year - 2000) * 12 + f.month - 1, bin) * bin;
    return zone.ToUtc(DaysFromCivil(2000, 1 + index, 1) * kDay);
  }
  if (__builtin_mul_overflow(size, RowOf(unit).millis, &bin)) {
    return Status(5439002, "dateTrunc unsupported binSize value " + std::to_string(size));
  }
  if (unit == Unit::kWeek || unit == Unit::kDay) {
    int64_t reference = kReferenceDay;
    if (unit == Unit::kWeek) {
      reference += (week_start - DayOfWeek(kReferenceDay) + 7) % 7;
    }
    int64_t days = FloorDiv(zone.ToLocal(utc), kDay) - reference;
    int64_t bin_days = bin / kDay;
    return zone.ToUtc((reference + FloorDiv(days, bin_days) * bin_days) * kDay);
  }
  int64_t reference = zone.ToUtc(kReferenceDay * kDay);
  int64_t distance = 0;
  if (__builtin_sub_overflow(utc, reference, &distance)) {
    return Status(5439002, "dateTrunc unsupported date value");
  }
  return reference + FloorDiv(distance, bin) * bin;
}

}  // namespace quire::expr::date
