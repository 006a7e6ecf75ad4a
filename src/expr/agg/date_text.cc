// SPDX-License-Identifier: Apache-2.0
//
// $dateToString and $dateFromString.
#include "base/error_codes.h"
#include "base/try.h"
#include "expr/agg/date_internal.h"
#include "expr/agg/operators_internal.h"
#include "expr/agg/result_internal.h"
#include "expr/date/format.h"
#include "expr/date/recent_texts.h"

namespace quire::expr::agg {

namespace {

constexpr std::string_view kDefaultFormat = "%Y-%m-%dT%H:%M:%S.%LZ";
constexpr std::string_view kDefaultLocalFormat = "%Y-%m-%dT%H:%M:%S.%L";

Result<Value> ValueOrNull(const Call& call, size_t i, EvalContext& eval) {
  return call.has(i) ? call.Get(i, eval) : Result<Value>(Value::Null());
}

}  // namespace

// Operands: date, format, timezone, onNull.
Result<Value> EvalDateToString(const Call& call, EvalContext& eval) {
  ASSIGN_OR_RETURN(Value date, call.Get(0, eval));
  std::string_view format = call.has(2) ? kDefaultLocalFormat : kDefaultFormat;
  Value given;
  if (call.has(1)) {
    ASSIGN_OR_RETURN(given, call.Get(1, eval));
    if (!given.nullish()) {
      if (!given.is_string()) {
        return Status(18533, "$dateToString requires that 'format' be a string, found: " +
                                 TypeText(given) + " with value " + Show(given));
      }
      format = given.AsString();
      RETURN_IF_ERROR(eval.texts != nullptr ? eval.texts->Check(format)
                                            : date::CheckFormat(format));
    }
  }
  ASSIGN_OR_RETURN(auto zone, ReadTimeZone(call, 2, eval));
  if (date.nullish()) {
    return ValueOrNull(call, 3, eval);
  }
  if (!zone || (call.has(1) && given.nullish())) {
    return Value::Null();
  }
  if (call.has(2) && zone->utc() && !call.has(1)) {
    format = kDefaultFormat;
  }
  ASSIGN_OR_RETURN(int64_t utc, CoerceToDate(date));
  if (eval.texts != nullptr) {
    ASSIGN_OR_RETURN(std::string_view text, eval.texts->Format(format, utc, *zone));
    return Value(eval.arena->Copy(text));
  }
  ASSIGN_OR_RETURN(std::string text, date::Format(format, utc, *zone));
  return MakeString(eval, std::move(text));
}

namespace {

Result<Value> ParseDateText(const Value& input, const Value& format, const date::TimeZone& zone) {
  if (!input.is_string()) {
    return Status(kConversionFailure,
                  "$dateFromString requires that 'dateString' be a string, found: " +
                      TypeText(input) + " with value " + Show(input));
  }
  Result<int64_t> millis = format.missing()
                               ? date::ParseFree(input.AsString(), &zone)
                               : date::ParseWithFormat(input.AsString(), format.AsString(), &zone);
  if (!millis.ok()) {
    return millis.status();
  }
  return Value(bson::Date{*millis});
}

}  // namespace

// Operands: dateString, format, timezone, onNull, onError.
Result<Value> EvalDateFromString(const Call& call, EvalContext& eval) {
  ASSIGN_OR_RETURN(Value input, call.Get(0, eval));
  Value format;
  if (call.has(1)) {
    ASSIGN_OR_RETURN(format, call.Get(1, eval));
    if (!format.nullish()) {
      if (!format.is_string()) {
        return Status(40684, "$dateFromString requires that 'format' be a string, found: " +
                                 TypeText(format) + " with value " + Show(format));
      }
      RETURN_IF_ERROR(date::CheckParseFormat(format.AsString()));
    }
  }
  ASSIGN_OR_RETURN(auto zone, ReadTimeZone(call, 2, eval));
  if (input.nullish()) {
    return ValueOrNull(call, 3, eval);
  }
  if (!zone || (call.has(1) && format.nullish())) {
    return Value::Null();
  }
  Result<Value> parsed = ParseDateText(input, format, *zone);
  if (!parsed.ok() && parsed.status().code() == kConversionFailure && call.has(4)) {
    return call.Get(4, eval);
  }
  return parsed;
}

}  // namespace quire::expr::agg
