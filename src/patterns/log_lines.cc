// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/log_lines.h"

#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "base/try.h"
#include "patterns/doc.h"
#include "quire/patterns/buckets.h"

namespace quire::patterns {

namespace {

Status ErrorAt(Error error, size_t column) {
  return MakeError(error, "column " + std::to_string(column + 1));
}

template <typename T>
std::optional<T> NumberOf(std::string_view text) {
  T number{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return number;
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  c = static_cast<char>(c | 0x20);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// Reads a line from left to right.
class Scanner {
 public:
  explicit Scanner(std::string_view line) : line_(line) {}

  size_t column() const { return at_; }
  bool done() const { return at_ >= line_.size(); }

  void SkipSpaces() {
    while (!done() && line_[at_] == ' ') {
      ++at_;
    }
  }

  Result<std::string_view> Word() {
    SkipSpaces();
    if (done()) {
      return ErrorAt(Error::kTooFewFields, at_);
    }
    size_t end = line_.find(' ', at_);
    std::string_view word = line_.substr(at_, end - at_);
    at_ += word.size();
    return word;
  }

  // What stands between brackets.
  Result<std::string_view> Bracketed() {
    SkipSpaces();
    if (done()) {
      return ErrorAt(Error::kTooFewFields, at_);
    }
    size_t end = line_.find(']', at_);
    if (line_[at_] != '[' || end == std::string_view::npos) {
      return ErrorAt(Error::kBadTime, at_);
    }
    std::string_view inside = line_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return inside;
  }

  // A field in quotes, its escapes \" \\ \xhh undone.
  Result<std::string> Quoted() {
    SkipSpaces();
    if (done()) {
      return ErrorAt(Error::kTooFewFields, at_);
    }
    const size_t start = at_;
    if (line_[at_++] != '"') {
      return ErrorAt(Error::kBadQuote, start);
    }
    std::string out;
    for (; !done(); ++at_) {
      if (line_[at_] == '"') {
        ++at_;
        return out;
      }
      out += line_[at_] == '\\' ? Escape() : line_[at_];
    }
    return ErrorAt(Error::kBadQuote, start);
  }

 private:
  // At a backslash; leaves at_ on the last character it used.
  char Escape() {
    const char next = at_ + 1 < line_.size() ? line_[at_ + 1] : '\0';
    if (next == '"' || next == '\\') {
      ++at_;
      return next;
    }
    if (next == 'x' && at_ + 3 < line_.size()) {
      int high = HexDigit(line_[at_ + 2]);
      int low = HexDigit(line_[at_ + 3]);
      if (high >= 0 && low >= 0) {
        at_ += 3;
        return static_cast<char>(high * 16 + low);
      }
    }
    return '\\';
  }

  std::string_view line_;
  size_t at_ = 0;
};

// dd/Mon/yyyy:HH:MM:SS +hhmm
std::optional<bson::Date> ApacheTime(std::string_view text) {
  constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";
  constexpr size_t kLength = 26;
  if (text.size() != kLength || text[2] != '/' || text[6] != '/' || text[11] != ':' ||
      text[14] != ':' || text[17] != ':' || text[20] != ' ' ||
      (text[21] != '+' && text[21] != '-')) {
    return std::nullopt;
  }
  const size_t month = kMonths.find(text.substr(3, 3));
  auto part = [&](size_t at, size_t size) {
    const std::string_view digits = text.substr(at, size);
    return digits.front() == '-' ? std::nullopt : NumberOf<int32_t>(digits);
  };
  auto day = part(0, 2), year = part(7, 4), hour = part(12, 2), minute = part(15, 2),
       second = part(18, 2), zone_hours = part(22, 2), zone_minutes = part(24, 2);
  if (month == std::string_view::npos || month % 3 != 0 || !day || !year || !hour || !minute ||
      !second || !zone_hours || !zone_minutes || *zone_hours > 23 || *zone_minutes > 59) {
    return std::nullopt;
  }
  CivilTime civil{*year, static_cast<int32_t>(month / 3) + 1, *day, *hour, *minute, *second};
  if (!IsValid(civil)) {
    return std::nullopt;
  }
  const int64_t zone = (*zone_hours * 60 + *zone_minutes) * int64_t{60'000};
  return bson::Date{ToDate(civil).millis - (text[21] == '-' ? -zone : zone)};
}

// Bytes that are not UTF-8 become the replacement character, as strings must be UTF-8.
std::string ValidUtf8(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    size_t size = lead < 0x80                   ? 1
                  : lead >= 0xc2 && lead < 0xe0 ? 2
                  : lead >= 0xe0 && lead < 0xf0 ? 3
                  : lead >= 0xf0 && lead < 0xf5 ? 4
                                                : 0;
    bool good = size > 0 && i + size <= text.size();
    for (size_t k = 1; good && k < size; ++k) {
      good = (static_cast<unsigned char>(text[i + k]) & 0xc0) == 0x80;
    }
    if (good && size == 3) {
      const auto second = static_cast<unsigned char>(text[i + 1]);
      good = (lead != 0xe0 || second >= 0xa0) && (lead != 0xed || second < 0xa0);
    } else if (good && size == 4) {
      const auto second = static_cast<unsigned char>(text[i + 1]);
      good = (lead != 0xf0 || second >= 0x90) && (lead != 0xf4 || second < 0x90);
    }
    good ? out += text.substr(i, size) : out += "\xef\xbf\xbd";
    i += good ? size : 1;
  }
  return out;
}

void AppendText(bson::Builder* out, std::string_view name, std::string_view text) {
  if (text == "-") {
    out->AppendNull(name);
  } else {
    out->Append(name, ValidUtf8(text));
  }
}

void AppendRequest(bson::Builder* out, std::string_view request) {
  AppendText(out, "request", request);
  const size_t first = request.find(' ');
  const size_t last = request.rfind(' ');
  const bool three = first != std::string_view::npos && first < last && first > 0 &&
                     last + 1 < request.size() && request.find(' ', first + 1) == last &&
                     last > first + 1;
  for (const char* name : {"method", "path", "protocol"}) {
    if (!three) {
      out->AppendNull(name);
    }
  }
  if (three) {
    AppendText(out, "method", request.substr(0, first));
    AppendText(out, "path", request.substr(first + 1, last - first - 1));
    AppendText(out, "protocol", request.substr(last + 1));
  }
}

}  // namespace

Result<std::vector<std::string>> ParseCsvRecord(std::string_view line, char separator) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quoted && c == '"' && i + 1 < line.size() && line[i + 1] == '"') {
      fields.back() += c;
      ++i;
    } else if (c == '"' && (quoted || fields.back().empty())) {
      quoted = !quoted;
    } else if (c == separator && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  if (quoted) {
    return ErrorAt(Error::kBadQuote, line.size());
  }
  return fields;
}

Result<bson::Document> ParseApacheLine(std::string_view line) {
  Scanner scanner(line);
  bson::Builder out;
  for (const char* name : {"host", "logname", "user"}) {
    ASSIGN_OR_RETURN(std::string_view word, scanner.Word());
    AppendText(&out, name, word);
  }
  scanner.SkipSpaces();
  const size_t time_column = scanner.column();
  ASSIGN_OR_RETURN(std::string_view time_text, scanner.Bracketed());
  std::optional<bson::Date> time = ApacheTime(time_text);
  if (!time) {
    return ErrorAt(Error::kBadTime, time_column);
  }
  out.Append("time", *time);
  ASSIGN_OR_RETURN(std::string request, scanner.Quoted());
  AppendRequest(&out, request);
  ASSIGN_OR_RETURN(std::string_view status, scanner.Word());
  std::optional<int32_t> code = NumberOf<int32_t>(status);
  if (!code || *code < 100 || *code > 999) {
    return ErrorAt(Error::kBadStatus, scanner.column() - status.size());
  }
  out.Append("status", *code);
  ASSIGN_OR_RETURN(std::string_view size, scanner.Word());
  std::optional<int64_t> bytes = NumberOf<int64_t>(size);
  if (size != "-" && (!bytes || *bytes < 0)) {
    return ErrorAt(Error::kBadStatus, scanner.column() - size.size());
  }
  bytes ? out.Append("response_size", *bytes) : out.AppendNull("response_size");
  scanner.SkipSpaces();
  const bool combined = !scanner.done();
  for (const char* name : {"referrer", "user_agent"}) {
    if (!combined) {
      out.AppendNull(name);
      continue;
    }
    ASSIGN_OR_RETURN(std::string text, scanner.Quoted());
    AppendText(&out, name, text);
  }
  return out.Finish();
}

Result<bson::Document> ParseMonitorCsvLine(std::string_view line) {
  constexpr size_t kColumns = 6;
  ASSIGN_OR_RETURN(std::vector<std::string> fields, ParseCsvRecord(line));
  if (fields.size() != kColumns) {
    return MakeError(Error::kBadColumnCount, std::to_string(fields.size()));
  }
  std::optional<int64_t> millis = NumberOf<int64_t>(fields[4]);
  if (!millis) {
    return MakeError(Error::kBadTimestamp, fields[4]);
  }
  std::optional<double> value = NumberOf<double>(fields[5]);
  if (!value || !std::isfinite(*value)) {
    return MakeError(Error::kBadNumber, fields[5]);
  }
  return Doc("Host", ValidUtf8(fields[2]), "Ip", ValidUtf8(fields[1]), "Node", ValidUtf8(fields[0]),
             "ParameterName", ValidUtf8(fields[3]), "GeneratedOn", bson::Date{*millis}, "Value",
             *value);
}

}  // namespace quire::patterns
