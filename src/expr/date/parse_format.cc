// SPDX-License-Identifier: Apache-2.0
//
// Reading a date by a format string, and putting the parts of a date together.
#include <cctype>

#include "base/error_codes.h"
#include "base/try.h"
#include "expr/date/calendar.h"
#include "expr/date/format.h"
#include "expr/date/parts_internal.h"

namespace quire::expr::date {

namespace {

Status Failure(std::string_view text, std::string_view why) {
  return Status(kConversionFailure,
                "Error parsing date string '" + std::string(text) + "'; " + std::string(why));
}

bool EqualIgnoringCase(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) {
    return false;
  }
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::tolower(static_cast<unsigned char>(a[i])) !=
        std::tolower(static_cast<unsigned char>(b[i]))) {
      return false;
    }
  }
  return true;
}

class FormatParser {
 public:
  FormatParser(std::string_view text, std::string_view format) : text_(text), format_(format) {}

  Result<DateParts> Parse() {
    for (size_t i = 0; i < format_.size(); ++i) {
      if (format_[i] == '%') {
        if (!Specifier(format_[++i])) {
          return Failure(text_, std::to_string(at_) + ": the text does not fit the format");
        }
      } else if (!Literal(format_[i])) {
        return Failure(text_, std::to_string(at_) + ": Format literal not found");
      }
    }
    if (at_ != text_.size()) {
      return Failure(text_, std::to_string(at_) + ": Trailing data");
    }
    return parts_;
  }

 private:
  bool Literal(char c) {
    if (at_ == text_.size() || text_[at_] != c) {
      return false;
    }
    ++at_;
    return true;
  }
  bool Number(std::optional<int64_t>* field, size_t min, size_t max) {
    int64_t value = 0;
    size_t length = 0;
    while (length < max && at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') {
      value = value * 10 + (text_[at_++] - '0');
      ++length;
    }
    *field = value;
    return length >= min;
  }
  bool Month(bool full) {
    for (int month = 1; month <= 12; ++month) {
      std::string_view name = full ? MonthName(month) : MonthAbbreviation(month);
      if (EqualIgnoringCase(text_.substr(at_, name.size()), name)) {
        at_ += name.size();
        parts_.month = month;
        return true;
      }
    }
    return false;
  }
  bool Sign(int* sign) {
    if (at_ == text_.size() || (text_[at_] != '+' && text_[at_] != '-')) {
      return false;
    }
    *sign = text_[at_++] == '-' ? -1 : 1;
    return true;
  }
  // "+hh", "+hhmm", "+hh:mm", "Z".
  bool Offset() {
    if (at_ < text_.size() && (text_[at_] == 'Z' || text_[at_] == 'z')) {
      ++at_;
      parts_.offset = 0;
      return true;
    }
    int sign = 1;
    std::optional<int64_t> hours;
    std::optional<int64_t> minutes = 0;
    if (!Sign(&sign) || !Number(&hours, 2, 2)) {
      return false;
    }
    if (at_ < text_.size() && text_[at_] == ':') {
      ++at_;
    }
    if (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) != 0 &&
        !Number(&minutes, 2, 2)) {
      return false;
    }
    parts_.offset = sign * (*hours * kHour + *minutes * kMinute);
    return true;
  }
  bool OffsetMinutes() {
    int sign = 1;
    if (at_ < text_.size() && (text_[at_] == '+' || text_[at_] == '-')) {
      Sign(&sign);
    }
    std::optional<int64_t> minutes;
    if (!Number(&minutes, 1, 4)) {
      return false;
    }
    parts_.offset = sign * *minutes * kMinute;
    return true;
  }

  bool Specifier(char c) {
    switch (c) {
      case 'Y':
        return Number(&parts_.year, 4, 4);
      case 'G':
        return Number(&parts_.iso_year, 4, 4);
      case 'm':
        return Number(&parts_.month, 1, 2);
      case 'd':
        return Number(&parts_.day, 1, 2);
      case 'H':
        return Number(&parts_.hour, 1, 2);
      case 'M':
        return Number(&parts_.minute, 1, 2);
      case 'S':
        return Number(&parts_.second, 1, 2);
      case 'L':
        return Number(&parts_.millis, 1, 3);
      case 'j':
        return Number(&parts_.day_of_year, 1, 3);
      case 'V':
        return Number(&parts_.iso_week, 1, 2);
      case 'u':
        return Number(&parts_.iso_day, 1, 1);
      case 'b':
        return Month(false);
      case 'B':
        return Month(true);
      case 'z':
        return Offset();
      case 'Z':
        return OffsetMinutes();
      default:
        return Literal(c);
    }
  }

  std::string_view text_;
  std::string_view format_;
  size_t at_ = 0;
  DateParts parts_;
};

bool ValidClock(const DateParts& p) {
  int64_t hour = p.hour.value_or(0);
  int64_t minute = p.minute.value_or(0);
  int64_t second = p.second.value_or(0);
  return hour <= 23 && minute <= 59 && second <= 59;
}

// Days since 1970-01-01; nothing when the date is incomplete or does not exist.
std::optional<int64_t> JoinDays(const DateParts& p) {
  if (p.iso_year) {
    if (p.year || p.month || p.day || p.iso_week.value_or(1) < 1 || p.iso_week.value_or(1) > 53 ||
        p.iso_day.value_or(1) < 1 || p.iso_day.value_or(1) > 7) {
      return std::nullopt;
    }
    return DaysFromIsoWeek(*p.iso_year, p.iso_week.value_or(1), p.iso_day.value_or(1));
  }
  if (!p.year || p.iso_week || p.iso_day) {
    return std::nullopt;
  }
  if (p.day_of_year) {
    // Counted from zero, as the reader of formats does.
    return p.month || p.day ? std::nullopt
                            : std::optional(DaysFromCivil(*p.year, 1, 1) + *p.day_of_year);
  }
  if (!p.month || !p.day || *p.month < 1 || *p.month > 12 || *p.day < 1 ||
      *p.day > DaysInMonth(*p.year, static_cast<int>(*p.month))) {
    return std::nullopt;
  }
  return DaysFromCivil(*p.year, *p.month, *p.day);
}

}  // namespace

Result<int64_t> JoinParts(const DateParts& parts, std::string_view text, const TimeZone* zone) {
  std::optional<int64_t> days = JoinDays(parts);
  if (!days || !ValidClock(parts)) {
    return Failure(text, "an incomplete or invalid date/time string has been found");
  }
  if (parts.weekday) {
    constexpr int64_t kThursday = 4;  // 1970-01-01
    const int64_t weekday = ((*days + kThursday) % 7 + 7) % 7;
    *days += (*parts.weekday - weekday + 7) % 7;
  }
  int64_t local = *days * kDay + parts.hour.value_or(0) * kHour +
                  parts.minute.value_or(0) * kMinute + parts.second.value_or(0) * kSecond +
                  parts.millis.value_or(0);
  if (parts.offset) {
    if (zone != nullptr && !zone->utc()) {
      return Failure(text,
                     "you cannot pass in a date/time string with time zone information "
                     "together with a timezone argument");
    }
    return local - *parts.offset;
  }
  return zone != nullptr ? zone->ToUtc(local) : local;
}

Result<int64_t> ParseWithFormat(std::string_view text, std::string_view format,
                                const TimeZone* zone) {
  ASSIGN_OR_RETURN(DateParts parts, FormatParser(text, format).Parse());
  return JoinParts(parts, text, zone);
}

}  // namespace quire::expr::date
