// SPDX-License-Identifier: Apache-2.0
#include "expr/date/format.h"

#include <algorithm>
#include <charconv>

#include "base/try.h"
#include "expr/date/calendar.h"

namespace quire::expr::date {

namespace {

constexpr std::string_view kMonths[] = {"January",   "February", "March",    "April",
                                        "May",       "June",     "July",     "August",
                                        "September", "October",  "November", "December"};

// Zeros up to `width` characters, a minus sign among them.
void AppendPadded(std::string* out, int64_t value, int width) {
  constexpr int kMostWidth = 4;
  constexpr int64_t kTooLarge[kMostWidth + 1] = {1, 10, 100, 1000, 10'000};
  if (width <= kMostWidth && value >= 0 && value < kTooLarge[width]) {  // as almost all
    char digits[kMostWidth];
    auto rest = static_cast<uint32_t>(value);
    for (int i = width; i-- > 0; rest /= 10) {
      digits[i] = static_cast<char>('0' + rest % 10);
    }
    out->append(digits, static_cast<size_t>(width));
    return;
  }
  char digits[24];
  const char* begin = digits;
  const char* end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  if (*begin == '-') {
    *out += *begin++;
    --width;
  }
  const auto length = static_cast<int>(end - begin);
  out->append(static_cast<size_t>(std::max(0, width - length)), '0').append(begin, end);
}

Status CheckSpecifiers(std::string_view format, std::string_view allowed) {
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      continue;
    }
    if (++i == format.size()) {
      return Status(18535, "Unmatched '%' at end of format string");
    }
    if (allowed.find(format[i]) == std::string_view::npos) {
      return Status(18536,
                    std::string("Invalid format character '%") + format[i] + "' in format string");
    }
  }
  return Status::Ok();
}

Status YearOutOfRange(int64_t year) {
  return Status(18537,
                "Could not convert date to string: date component was outside the supported "
                "range of 0-9999: " +
                    std::to_string(year));
}

// The week of the year with Sunday as its first day, 0-53.
int SundayWeek(const Fields& fields, int64_t days) {
  return (DayOfYear(fields) - 1 + 7 - DayOfWeek(days)) / 7;
}

void AppendOffset(std::string* out, int64_t offset_millis) {
  int64_t minutes = offset_millis / kMinute;
  *out += minutes < 0 ? '-' : '+';
  minutes = minutes < 0 ? -minutes : minutes;
  AppendPadded(out, minutes / 60, 2);
  AppendPadded(out, minutes % 60, 2);
}

struct Moment {
  Fields fields;
  int64_t days;
  int64_t offset;
};

Status AppendSpecifier(char specifier, const Moment& at, std::string* out) {
  const Fields& f = at.fields;
  switch (specifier) {
    case 'Y':
      if (f.year < 0 || f.year > 9999) {
        return YearOutOfRange(f.year);
      }
      AppendPadded(out, f.year, 4);
      break;
    case 'G': {
      int64_t year = IsoWeek(at.days).year;
      if (year < 0 || year > 9999) {
        return YearOutOfRange(year);
      }
      AppendPadded(out, year, 4);
      break;
    }
    case 'm':
      AppendPadded(out, f.month, 2);
      break;
    case 'd':
      AppendPadded(out, f.day, 2);
      break;
    case 'H':
      AppendPadded(out, f.hour, 2);
      break;
    case 'M':
      AppendPadded(out, f.minute, 2);
      break;
    case 'S':
      AppendPadded(out, f.second, 2);
      break;
    case 'L':
      AppendPadded(out, f.millis, 3);
      break;
    case 'j':
      AppendPadded(out, DayOfYear(f), 3);
      break;
    case 'w':
      AppendPadded(out, DayOfWeek(at.days) + 1, 1);
      break;
    case 'u':
      AppendPadded(out, IsoWeek(at.days).day, 1);
      break;
    case 'U':
      AppendPadded(out, SundayWeek(f, at.days), 2);
      break;
    case 'V':
      AppendPadded(out, IsoWeek(at.days).week, 2);
      break;
    case 'b':
      *out += MonthAbbreviation(f.month);
      break;
    case 'B':
      *out += MonthName(f.month);
      break;
    case 'z':
      AppendOffset(out, at.offset);
      break;
    case 'Z':
      *out += std::to_string(at.offset / kMinute);
      break;
    default:
      *out += specifier;
  }
  return Status::Ok();
}

}  // namespace

std::string_view MonthName(int month) { return kMonths[month - 1]; }

std::string_view MonthAbbreviation(int month) { return kMonths[month - 1].substr(0, 3); }

Status CheckFormat(std::string_view format) {
  return CheckSpecifiers(format, "YGmdHMSLjwuUVbBzZ%");
}

Status CheckParseFormat(std::string_view format) {
  return CheckSpecifiers(format, "YGmdHMSLjuVbBzZ%");
}

Result<std::string> Format(std::string_view format, int64_t utc_millis, const TimeZone& zone) {
  Moment at;
  at.offset = zone.OffsetAt(utc_millis);
  int64_t local = 0;
  if (__builtin_add_overflow(utc_millis, at.offset, &local)) {
    return YearOutOfRange(utc_millis < 0 ? -292275055 : 292278994);
  }
  at.fields = SplitMillis(local);
  at.days = FloorDiv(local, kDay);
  std::string out;
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      out += format[i];
      continue;
    }
    RETURN_IF_ERROR(AppendSpecifier(format[++i], at, &out));
  }
  return out;
}

Result<std::string> FormatIso(int64_t utc_millis) {
  return Format("%Y-%m-%dT%H:%M:%S.%LZ", utc_millis, TimeZone());
}

}  // namespace quire::expr::date
