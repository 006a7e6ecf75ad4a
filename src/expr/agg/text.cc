// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <cmath>
#include <cstdio>

#include "base/try.h"
#include "bson/decimal.h"
#include "expr/agg/result_internal.h"
#include "expr/agg/text_internal.h"
#include "expr/date/calendar.h"
#include "expr/date/format.h"

namespace quire::expr::agg {

namespace {

constexpr size_t kMaxString = size_t{16} << 20;

std::string TimestampText(bson::Timestamp timestamp) {
  date::Fields f = date::SplitMillis(int64_t{timestamp.seconds} * date::kSecond);
  char buffer[64];
  snprintf(buffer, sizeof buffer, "%.3s %2d %02d:%02d:%02d:%u",
           date::MonthAbbreviation(f.month).data(), f.day, f.hour, f.minute, f.second,
           timestamp.increment);
  return buffer;
}

std::string ShortDoubleText(double d) {
  char buffer[40];
  snprintf(buffer, sizeof buffer, "%g", d);
  return std::isnan(d) ? std::string("nan") : std::string(buffer);
}

}  // namespace

std::string DoubleText(double d) {
  if (std::isnan(d)) {
    return "NaN";
  }
  if (std::isinf(d)) {
    return d < 0 ? "-Infinity" : "Infinity";
  }
  // Shortest digits that read back as the same double; an exponent below 1e-4 and from 1e16 on.
  double magnitude = std::fabs(d);
  bool fixed = magnitude == 0 || (magnitude >= 1e-4 && magnitude < 1e16);
  char buffer[40];
  char* end = std::to_chars(buffer, buffer + sizeof buffer, d,
                            fixed ? std::chars_format::fixed : std::chars_format::scientific)
                  .ptr;
  return std::string(buffer, end);
}

Result<std::string_view> CoerceToString(const Value& value, EvalContext& eval) {
  switch (value.type()) {
    case Type::kString:
    case Type::kCode:
    case Type::kSymbol:
      return value.AsString();
    case Type::kMissing:
    case Type::kNull:
    case Type::kUndefined:
      return std::string_view();
    case Type::kInt32:
    case Type::kInt64:
      return eval.arena->Adopt(std::to_string(value.AsInt64()));
    case Type::kDouble:
      return eval.arena->Adopt(ShortDoubleText(value.AsDouble()));
    case Type::kDecimal128:
      return eval.arena->Adopt(bson::decimal::ToString(value.AsDecimal()));
    case Type::kTimestamp:
      return eval.arena->Adopt(TimestampText(value.AsTimestamp()));
    case Type::kDate: {
      ASSIGN_OR_RETURN(std::string text, date::FormatIso(value.AsDate().millis));
      return eval.arena->Adopt(std::move(text));
    }
    default:
      return Status(16007, "can't convert from BSON type " +
                               std::string(bson::TypeName(value.type())) + " to String");
  }
}

Status CheckStringSize(size_t size) {
  if (size < kMaxString) {
    return Status::Ok();
  }
  return Status(16493, "Tried to create string longer than 16MB");
}

size_t CodePointSize(std::string_view text, size_t at) {
  size_t size = 1;
  while (at + size < text.size() && IsContinuation(text[at + size])) {
    ++size;
  }
  return size;
}

size_t CountCodePoints(std::string_view text) {
  size_t count = 0;
  for (char c : text) {
    count += IsContinuation(c) ? 0 : 1;
  }
  return count;
}

size_t CodePointOffset(std::string_view text, size_t index) {
  size_t at = 0;
  while (index > 0 && at < text.size()) {
    at += CodePointSize(text, at);
    --index;
  }
  return at;
}

}  // namespace quire::expr::agg
