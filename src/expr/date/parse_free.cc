// SPDX-License-Identifier: Apache-2.0
//
// Reading a date written in any of the usual notations.
#include <algorithm>
#include <cctype>
#include <optional>

#include "base/error_codes.h"
#include "base/try.h"
#include "expr/date/calendar.h"
#include "expr/date/format.h"
#include "expr/date/parts_internal.h"

namespace quire::expr::date {

namespace {

struct Abbreviation {
  std::string_view name;
  int minutes;
};
constexpr Abbreviation kZones[] = {
    {"utc", 0},    {"uct", 0},    {"gmt", 0},    {"wet", 0},    {"west", 60},   {"bst", 60},
    {"cet", 60},   {"cest", 120}, {"met", 60},   {"mest", 120}, {"eet", 120},   {"eest", 180},
    {"msk", 180},  {"msd", 240},  {"est", -300}, {"edt", -240}, {"cst", -360},  {"cdt", -300},
    {"mst", -420}, {"mdt", -360}, {"pst", -480}, {"pdt", -420}, {"akst", -540}, {"akdt", -480},
    {"hst", -600}, {"hdt", -570}, {"ast", -240}, {"adt", -180}, {"nst", -210},  {"sst", -660},
    {"chst", 600}, {"ist", 120},  {"idt", 180},  {"cat", 120},  {"eat", 180},   {"wat", 60},
    {"wast", 120}, {"sast", 120}, {"pkt", 300},  {"pkst", 360}, {"wib", 420},   {"wita", 480},
    {"wit", 540},  {"hkt", 480},  {"hkst", 540}, {"jst", 540},  {"jdt", 600},   {"kst", 510},
    {"kdt", 600},  {"awst", 480}, {"awdt", 540}, {"acst", 570}, {"acdt", 630},  {"aest", 600},
    {"aedt", 660}, {"gst", 600},  {"nzst", 720}, {"nzdt", 780}};

// The zone of one letter, in minutes east of UTC; empty for "j", which is none.
std::optional<int> LetterZone(char letter) {
  if (letter == 'z') {
    return 0;
  }
  if (letter == 'j') {
    return std::nullopt;
  }
  if (letter >= 'n') {
    return -60 * (letter - 'n' + 1);
  }
  return 60 * (letter - 'a' + (letter > 'j' ? 0 : 1));
}

constexpr std::string_view kWeekdays[] = {"sunday",   "monday", "tuesday", "wednesday",
                                          "thursday", "friday", "saturday"};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsAlpha(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

class FreeParser {
 public:
  explicit FreeParser(std::string_view text) : text_(text) {}

  Result<DateParts> Parse() {
    while (true) {
      SkipSeparators();
      if (at_ == text_.size()) {
        return parts_;
      }
      if (!Step()) {
        return Status(kConversionFailure, "Error parsing date string '" + std::string(text_) +
                                              "'; " + std::to_string(at_) +
                                              ": Unexpected character");
      }
    }
  }

 private:
  char Peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  void SkipSeparators() {
    while (at_ < text_.size()) {
      char c = text_[at_];
      if (c == '\xC2' && Peek(1) == '\xA0') {
        at_ += 2;
      } else if (c == ' ' || c == ',' || c == '\t' || c == '\n' || c == '\0') {
        ++at_;
      } else {
        break;
      }
    }
  }
  // The run of digits here: its value and length.
  int64_t Digits(size_t max, size_t* length) {
    int64_t value = 0;
    *length = 0;
    while (*length < max && IsDigit(Peek())) {
      value = value * 10 + (text_[at_++] - '0');
      ++*length;
    }
    return value;
  }
  bool Set(std::optional<int64_t>* field, int64_t value) {
    if (field->has_value()) {
      return false;
    }
    *field = value;
    return true;
  }
  bool SetDate(int64_t year, int64_t month, int64_t day) {
    return Set(&parts_.year, year) && Set(&parts_.month, month) && Set(&parts_.day, day);
  }

  bool Step() {
    char c = Peek();
    if (IsDigit(c)) {
      return Number();
    }
    if (IsAlpha(c)) {
      return Word();
    }
    if (c == '(' && IsAlpha(Peek(1)) && !parts_.offset) {
      ++at_;
      const bool zone = Word() && parts_.offset && Peek() == ')';
      at_ += zone ? 1 : 0;
      return zone;
    }
    if (c == '+' || c == '-') {
      return parts_.year || parts_.hour ? Offset(0) : SignedYear();
    }
    return c == '@' && Epoch();
  }

  bool Epoch() {
    ++at_;
    bool negative = Peek() == '-';
    at_ += negative ? 1 : 0;
    size_t length = 0;
    int64_t seconds = Digits(12, &length);
    if (length == 0) {
      return false;
    }
    Fields f = SplitMillis((negative ? -seconds : seconds) * kSecond);
    parts_.offset = 0;
    parts_.hour = f.hour;
    parts_.minute = f.minute;
    parts_.second = f.second;
    return SetDate(f.year, f.month, f.day);
  }

  bool Word() {
    size_t start = at_;
    while (IsAlpha(Peek())) {
      ++at_;
    }
    std::string word(text_.substr(start, at_ - start));
    std::transform(word.begin(), word.end(), word.begin(),
                   [](unsigned char ch) { return static_cast<char>(std::tolower(ch)); });
    if (Peek() == '.' && word.size() > 2) {
      ++at_;
    }
    if (word == "t" && IsDigit(Peek())) {
      return CompactTime();
    }
    const bool dotted = Peek() == '.' && (Peek(1) == 'm' || Peek(1) == 'M');
    if (word == "am" || word == "pm" || ((word == "a" || word == "p") && dotted)) {
      return Meridian(word[0] == 'p');
    }
    if (int month = FindMonth(word)) {
      return Set(&parts_.month, month) && AfterMonth(word.size() == 3 || word == "sept");
    }
    if (std::optional<int64_t> weekday = FindWeekday(word)) {
      // A time that comes before it is forgotten.
      parts_.weekday = weekday;
      parts_.hour = parts_.minute = parts_.second = parts_.millis = std::nullopt;
      return true;
    }
    if (std::optional<int> minutes = word.size() == 1 ? LetterZone(word[0]) : std::nullopt) {
      return ZoneName(*minutes);
    }
    for (const Abbreviation& zone : kZones) {
      if (zone.name == word) {
        return ZoneName(zone.minutes);
      }
    }
    at_ = start;
    return false;
  }

  bool ZoneName(int minutes) {
    if ((Peek() == '+' || Peek() == '-') && IsDigit(Peek(1))) {
      return Offset(minutes);
    }
    return Set(&parts_.offset, minutes * kMinute);
  }

  static int FindMonth(std::string_view word) {
    if (word == "sept") {
      return 9;
    }
    for (int month = 1; month <= 12; ++month) {
      std::string name(MonthName(month));
      name[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(name[0])));
      if (word == name || word == std::string_view(name).substr(0, 3)) {
        return month;
      }
    }
    return 0;
  }
  static std::optional<int64_t> FindWeekday(std::string_view word) {
    const auto* found =
        std::find_if(std::begin(kWeekdays), std::end(kWeekdays),
                     [&](std::string_view day) { return word == day || word == day.substr(0, 3); });
    return found == std::end(kWeekdays) ? std::nullopt
                                        : std::optional<int64_t>(found - std::begin(kWeekdays));
  }

  // "-2017" after "04-Jul", "-04-2017" after "Jul", "-04" after "2017-Jul". Days are not joined to
  // whole names, and after a year a month without a day is its first day.
  bool AfterMonth(bool abbreviated) {
    const bool joined = Peek() == '-' && IsDigit(Peek(1));
    const bool two_digits = joined && IsDigit(Peek(2)) && !IsDigit(Peek(3));
    if (!parts_.day && two_digits) {
      ++at_;
      size_t length = 0;
      parts_.day = Digits(2, &length);
      at_ += Peek() == '-' && IsDigit(Peek(1)) ? 1 : 0;
      return abbreviated;
    }
    if (parts_.year && !parts_.day) {
      parts_.day = 1;
      return !joined;
    }
    at_ += joined ? 1 : 0;
    return true;
  }

  // Ends the text or comes before a space; not for a time after "T".
  bool Meridian(bool pm) {
    if (!parts_.hour || *parts_.hour < 1 || *parts_.hour > 12 || after_t_) {
      return false;
    }
    parts_.hour = *parts_.hour % 12 + (pm ? 12 : 0);
    if (Peek() == '.' && (Peek(1) == 'm' || Peek(1) == 'M')) {
      at_ += 2;
      at_ += Peek() == '.' ? 1 : 0;
    }
    return Peek() == '\0' || Peek() == ' ' || Peek() == '\t';
  }

  // "+2017-02-08", "-0044-03-15", "+12017-02-08": months and days of two digits.
  bool SignedYear() {
    const int sign = Peek() == '-' ? -1 : 1;
    ++at_;
    size_t lengths[3] = {0, 0, 0};
    int64_t values[3] = {0, 0, 0};
    for (size_t i = 0; i < 3; ++i) {
      if (i > 0 && (Peek() != '-' || !IsDigit(Peek(1)))) {
        return false;
      }
      at_ += i > 0 ? 1 : 0;
      values[i] = Digits(i == 0 ? 6 : 2, &lengths[i]);
    }
    return lengths[0] >= 4 && lengths[1] == 2 && lengths[2] == 2 &&
           SetDate(sign * values[0], values[1], values[2]) && AfterDate();
  }

  bool Offset(int base_minutes) {
    int sign = Peek() == '-' ? -1 : 1;
    ++at_;
    size_t length = 0;
    int64_t hours = Digits(4, &length);
    int64_t minutes = 0;
    if (length == 0) {
      return false;
    }
    if (length > 2) {
      minutes = hours % 100;
      hours /= 100;
    } else if (Peek() == ':') {
      ++at_;
      minutes = Digits(2, &length);
    }
    return Set(&parts_.offset, base_minutes * kMinute + sign * (hours * kHour + minutes * kMinute));
  }

  bool Number() {
    size_t length = 0;
    int64_t value = Digits(14, &length);
    char next = Peek();
    if (next == ':' && length <= 2) {
      return ClockTime(value, next);
    }
    if (length == 4 && (next == '-' || next == '/')) {
      return YearFirst(value, next);
    }
    if (length == 4 && (next == 'W' || next == 'w')) {
      return IsoWeekAfterYear(value);
    }
    if (length == 4 && next == '.') {
      ++at_;
      const int64_t day = Digits(3, &length);
      return length == 3 && DayOfYear(value, day);
    }
    if (length == 6 && parts_.year) {
      return SetClock(value / 10000, value / 100 % 100, value % 100);
    }
    if (length == 7) {
      return DayOfYear(value / 1000, value % 1000);
    }
    if (length == 8) {
      return SetDate(value / 10000, value / 100 % 100, value % 100) && AfterDate();
    }
    if (length == 14) {
      int64_t clock = value % 1000000;
      value /= 1000000;
      return SetClock(clock / 10000, clock / 100 % 100, clock % 100) &&
             SetDate(value / 10000, value / 100 % 100, value % 100);
    }
    if (length <= 2 && (next == '/' || next == '-' || next == '.')) {
      return DayOrMonthFirst(value, length, next);
    }
    return BareNumber(value, length);
  }

  bool AfterDate() {
    if ((Peek() == 'T' || Peek() == 't') && IsDigit(Peek(1))) {
      ++at_;
      return CompactTime();
    }
    return true;
  }

  // "2017020", "2017.020", "2017-020": a day of January. Later ones are no date: day 32 of January
  // is none.
  bool DayOfYear(int64_t year, int64_t day) { return SetDate(year, 1, day) && AfterDate(); }

  // "2017-02-08", "2017-02", "2017/02/08", "2017-W06-3", "2017-Feb-08", "2017-020".
  bool YearFirst(int64_t year, char separator) {
    ++at_;
    size_t length = 0;
    if (Peek() == 'W' || Peek() == 'w') {
      return IsoWeekAfterYear(year);
    }
    if (separator == '-' && IsAlpha(Peek())) {
      return Set(&parts_.year, year);
    }
    int64_t month = Digits(3, &length);
    if (length == 3 && separator == '-') {
      return DayOfYear(year, month);
    }
    if (length == 0 || length == 3) {
      return false;
    }
    int64_t day = 1;
    if (Peek() == separator && IsDigit(Peek(1))) {
      ++at_;
      day = Digits(2, &length);
    }
    return SetDate(year, month, day) && AfterDate();
  }

  bool IsoWeekAfterYear(int64_t year) {
    ++at_;
    size_t length = 0;
    int64_t week = Digits(2, &length);
    if (length != 2) {
      return false;
    }
    parts_.iso_year = year;
    parts_.iso_week = week;
    at_ += Peek() == '-' && IsDigit(Peek(1)) ? 1 : 0;
    if (IsDigit(Peek())) {
      parts_.iso_day = Digits(1, &length);
    }
    return AfterDate();
  }

  // Years of one or two digits are those from 1970 to 2069.
  static int64_t WholeYear(int64_t year, size_t length) {
    return length >= 4 || year >= 100 ? year : year + (year < 70 ? 2000 : 1900);
  }

  // "02/08/2017" (month first), "08-02-2017" and "08.02.2017" (day first), "08-Feb-2017"; with a
  // year of two digits "02/08/17", "17-02-08" (year first) and "08.02.70" (unless it is a time);
  // "10.30" and "10.30.15" are times.
  bool DayOrMonthFirst(int64_t first, size_t first_length, char separator) {
    if (separator == '-' && IsAlpha(Peek(1))) {
      ++at_;
      return Set(&parts_.day, first);
    }
    if (!IsDigit(Peek(1))) {  // "14. May"
      ++at_;
      return separator == '.' && Set(&parts_.day, first);
    }
    ++at_;
    size_t second_length = 0;
    int64_t second = Digits(2, &second_length);
    const bool time = separator == '.' && first <= 24 && second <= 59;
    if (Peek() != separator || !IsDigit(Peek(1))) {
      return time && SetClock(first, second, 0);
    }
    ++at_;
    size_t length = 0;
    const int64_t third = Digits(4, &length);
    if (separator == '/') {
      return SetDate(WholeYear(third, length), first, second) && AfterDate();
    }
    if (length == 4) {
      return SetDate(third, second, first) && AfterDate();
    }
    if (separator == '-') {
      return length <= 2 && SetDate(WholeYear(first, first_length), second, third) && AfterDate();
    }
    if (time && length <= 2 && third <= 60) {
      return SetClock(first, second, third) && Fraction();
    }
    return length == 2 && SetDate(WholeYear(third, length), second, first) && AfterDate();
  }

  // A day or a year beside a month's name, or an hour before am or pm.
  bool BareNumber(int64_t value, size_t length) {
    if (length == 4) {
      return Set(&parts_.year, value);
    }
    if (length > 2) {
      return false;
    }
    size_t word = at_;
    while (word < text_.size() && text_[word] == ' ') {
      ++word;
    }
    std::string_view rest = text_.substr(word);
    bool meridian = rest.size() >= 2 && (rest[1] == 'm' || rest[1] == 'M') &&
                    (rest[0] == 'a' || rest[0] == 'A' || rest[0] == 'p' || rest[0] == 'P');
    if (meridian) {
      return SetClock(value, 0, 0);
    }
    for (std::string_view suffix : {"st", "nd", "rd", "th"}) {
      if (text_.substr(at_).starts_with(suffix)) {
        at_ += 2;
        break;
      }
    }
    return Set(&parts_.day, value);
  }

  bool SetClock(int64_t hour, int64_t minute, int64_t second) {
    return Set(&parts_.hour, hour) && Set(&parts_.minute, minute) && Set(&parts_.second, second);
  }

  // After "T": "12", "1210", "121040", "12:10:40", "12.10.40".
  bool CompactTime() {
    size_t length = 0;
    int64_t value = Digits(6, &length);
    after_t_ = true;
    if ((Peek() == ':' || Peek() == '.') && length <= 2) {
      return ClockTime(value, Peek());
    }
    if (length == 6) {
      return SetClock(value / 10000, value / 100 % 100, value % 100) && Fraction();
    }
    if (length == 4) {
      return SetClock(value / 100, value % 100, 0);
    }
    return length == 2 && SetClock(value, 0, 0);
  }

  bool ClockTime(int64_t hour, char separator) {
    ++at_;
    size_t length = 0;
    int64_t minute = Digits(2, &length);
    if (length == 0) {
      return false;
    }
    int64_t second = 0;
    bool has_second = Peek() == separator && IsDigit(Peek(1));
    if (has_second) {
      ++at_;
      second = Digits(2, &length);
    }
    return SetClock(hour, minute, second) && (!has_second || Fraction());
  }

  bool Fraction() {
    if (Peek() != '.' || !IsDigit(Peek(1))) {
      return true;
    }
    ++at_;
    size_t length = 0;
    int64_t value = Digits(3, &length);
    for (; length < 3; ++length) {
      value *= 10;
    }
    while (IsDigit(Peek())) {
      ++at_;
    }
    return Set(&parts_.millis, value);
  }

  std::string_view text_;
  size_t at_ = 0;
  DateParts parts_;
  bool after_t_ = false;  // the time came after "T"
};

}  // namespace

Result<int64_t> ParseFree(std::string_view text, const TimeZone* zone) {
  ASSIGN_OR_RETURN(DateParts parts, FreeParser(text).Parse());
  if (!parts.day && parts.month) {
    parts.day = 1;
  }
  return JoinParts(parts, text, zone);
}

}  // namespace quire::expr::date
