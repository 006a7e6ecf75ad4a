// SPDX-License-Identifier: Apache-2.0
#include "bson/json/text_forms.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>

namespace quire::bson {

namespace {

constexpr char kAlphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr int64_t kMillisPerDay = 86400000;

std::array<int8_t, 256> MakeReverse() {
  std::array<int8_t, 256> reverse;
  reverse.fill(-1);
  for (int i = 0; i < 64; ++i) {
    reverse[static_cast<uint8_t>(kAlphabet[i])] = static_cast<int8_t>(i);
  }
  return reverse;
}

// Reads fixed-width numbers and expected characters off the front of a text.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  bool Number(size_t digits, int* out) {
    if (text_.size() < digits) {
      return false;
    }
    *out = 0;
    for (size_t i = 0; i < digits; ++i) {
      if (text_[i] < '0' || text_[i] > '9') {
        return false;
      }
      *out = *out * 10 + (text_[i] - '0');
    }
    text_.remove_prefix(digits);
    return true;
  }
  bool Take(char c) {
    if (text_.empty() || text_.front() != c) {
      return false;
    }
    text_.remove_prefix(1);
    return true;
  }
  // Milliseconds from a fraction of any length.
  bool Fraction(int* millis) {
    size_t digits = 0;
    int scale = 100;
    for (; digits < text_.size() && text_[digits] >= '0' && text_[digits] <= '9'; ++digits) {
      *millis += (text_[digits] - '0') * scale;
      scale /= 10;
    }
    text_.remove_prefix(digits);
    return digits > 0;
  }
  bool done() const { return text_.empty(); }
  // Digits in front.
  bool AtDigit() const { return !text_.empty() && text_.front() >= '0' && text_.front() <= '9'; }

 private:
  std::string_view text_;
};

// Minutes east of Greenwich.
bool ScanZone(Scanner* scanner, int* minutes) {
  *minutes = 0;
  if (scanner->Take('Z')) {
    return scanner->done();
  }
  bool west = scanner->Take('-');
  if (!west && !scanner->Take('+')) {
    return false;
  }
  int hours = 0;
  int rest = 0;
  if (!scanner->Number(2, &hours)) {
    return false;
  }
  scanner->Take(':');
  if (scanner->AtDigit() && !scanner->Number(2, &rest)) {
    return false;
  }
  *minutes = (hours * 60 + rest) * (west ? -1 : 1);
  return scanner->done() && hours < 24 && rest < 60;
}

bool ScanTime(Scanner* scanner, int64_t* millis) {
  int hour = 0;
  int minute = 0;
  int second = 0;
  int fraction = 0;
  if (!scanner->Number(2, &hour) || !scanner->Take(':') || !scanner->Number(2, &minute)) {
    return false;
  }
  if (scanner->Take(':')) {
    if (!scanner->Number(2, &second)) {
      return false;
    }
    if (scanner->Take('.') && !scanner->Fraction(&fraction)) {
      return false;
    }
  }
  *millis = ((hour * 60 + minute) * 60 + second) * int64_t{1000} + fraction;
  return hour < 24 && minute < 60 && second < 60;
}

}  // namespace

std::string ToBase64(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    size_t n = std::min<size_t>(3, bytes.size() - i);
    for (size_t j = 0; j < 3; ++j) {
      group = group << 8 | (j < n ? static_cast<uint8_t>(bytes[i + j]) : 0);
    }
    for (size_t j = 0; j < 4; ++j) {
      out += j <= n ? kAlphabet[group >> (18 - 6 * j) & 63] : '=';
    }
  }
  return out;
}

std::optional<std::string> FromBase64(std::string_view text) {
  static const std::array<int8_t, 256> kReverse = MakeReverse();
  for (int i = 0; i < 2 && !text.empty() && text.back() == '='; ++i) {
    text.remove_suffix(1);
  }
  if (text.size() % 4 == 1) {
    return std::nullopt;
  }
  std::string out;
  out.reserve(text.size() * 3 / 4);
  uint32_t bits = 0;
  int count = 0;
  for (char c : text) {
    int digit = kReverse[static_cast<uint8_t>(c)];
    if (digit < 0) {
      return std::nullopt;
    }
    bits = bits << 6 | static_cast<uint32_t>(digit);
    count += 6;
    if (count >= 8) {
      count -= 8;
      out += static_cast<char>(bits >> count);
    }
  }
  return out;
}

std::string ToIsoDate(int64_t millis) {
  using namespace std::chrono;
  auto day = floor<days>(sys_time<milliseconds>(milliseconds(millis)));
  year_month_day date(day);
  auto time = static_cast<int>(millis - day.time_since_epoch().count() * kMillisPerDay);
  char text[40];
  int n =
      snprintf(text, sizeof text, "%04d-%02u-%02uT%02d:%02d:%02d", static_cast<int>(date.year()),
               static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
               time / 3600000, time / 60000 % 60, time / 1000 % 60);
  std::string out(text, static_cast<size_t>(n));
  if (time % 1000 != 0) {
    n = snprintf(text, sizeof text, ".%03d", time % 1000);
    out.append(text, static_cast<size_t>(n));
  }
  return out + "Z";
}

std::optional<int64_t> FromIsoDate(std::string_view text) {
  using namespace std::chrono;
  Scanner scanner(text);
  int y = 0;
  int m = 0;
  int d = 0;
  int zone = 0;
  int64_t time = 0;
  if (!scanner.Number(4, &y) || !scanner.Take('-') || !scanner.Number(2, &m) ||
      !scanner.Take('-') || !scanner.Number(2, &d) || !scanner.Take('T') ||
      !ScanTime(&scanner, &time) || !ScanZone(&scanner, &zone)) {
    return std::nullopt;
  }
  year_month_day date{year(y), month(static_cast<unsigned>(m)), day(static_cast<unsigned>(d))};
  if (!date.ok()) {
    return std::nullopt;
  }
  int64_t days_since = sys_days(date).time_since_epoch().count();
  return days_since * kMillisPerDay + time - zone * int64_t{60000};
}

std::optional<Date> Date::FromIso(std::string_view text) {
  constexpr size_t kDayOnly = 10;  // 2024-05-06
  std::string whole(text);
  if (text.size() == kDayOnly) {
    whole.append("T00:00Z");
  }
  const std::optional<int64_t> time = FromIsoDate(whole);
  return time ? std::optional(Date{*time}) : std::nullopt;
}

std::string Date::ToIso() const {
  constexpr int64_t kYear0 = -62167219200000;
  constexpr int64_t kYear10000 = 253402300800000;
  return millis >= kYear0 && millis < kYear10000 ? ToIsoDate(millis) : std::to_string(millis);
}

std::string DoubleText(double d) {
  if (std::isnan(d)) {
    return "NaN";
  }
  if (std::isinf(d)) {
    return d > 0 ? "Infinity" : "-Infinity";
  }
  char text[40];
  double size = std::fabs(d);
  bool plain = size == 0 || (size >= 1e-5 && size < 1e17);
  auto format = plain ? std::chars_format::fixed : std::chars_format::scientific;
  auto result = std::to_chars(text, text + sizeof text, d, format);
  std::string out(text, result.ptr);
  return out.find_first_of(".e") == std::string::npos ? out + ".0" : out;
}

std::string TimestampText(Timestamp time) {
  return "Timestamp(" + std::to_string(time.seconds) + ", " + std::to_string(time.increment) + ")";
}

}  // namespace quire::bson
