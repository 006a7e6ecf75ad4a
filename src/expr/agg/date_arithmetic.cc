// SPDX-License-Identifier: Apache-2.0
//
// $dateAdd, $dateSubtract, $dateDiff and $dateTrunc.
#include "base/error_codes.h"
#include "base/try.h"
#include "expr/agg/date_internal.h"
#include "expr/agg/operators_internal.h"
#include "expr/agg/result_internal.h"
#include "expr/date/unit.h"

namespace quire::expr::agg {

namespace {

Result<date::Unit> ReadUnit(const Call& call, const Value& value) {
  std::string op(call.name());
  if (!value.is_string()) {
    return Status(5439013, op + " requires 'unit' to be a string, but got " + TypeText(value));
  }
  auto unit = date::ParseUnit(value.AsString());
  if (!unit) {
    return Status(kFailedToParse,
                  op + " unknown time unit value: " + std::string(value.AsString()));
  }
  return *unit;
}

// Sunday when not given; nothing when null.
Result<std::optional<int>> ReadWeekStart(const Call& call, size_t i, EvalContext& eval) {
  if (!call.has(i)) {
    return std::optional<int>(0);
  }
  ASSIGN_OR_RETURN(Value value, call.Get(i, eval));
  if (value.nullish()) {
    return std::optional<int>();
  }
  std::string op(call.name());
  if (!value.is_string()) {
    return Status(5439015,
                  op + " requires 'startOfWeek' to be a string, but got " + TypeText(value));
  }
  auto day = date::ParseWeekday(value.AsString());
  if (!day) {
    return Status(5439016, op +
                               " parameter 'startOfWeek' value cannot be recognized as a day of a "
                               "week: " +
                               std::string(value.AsString()));
  }
  return day;
}

// The largest amounts $dateAdd takes, per unit.
bool AmountInRange(date::Unit unit, int64_t amount) {
  static constexpr int64_t kLimits[] = {
      584'942'417LL,          // year
      4 * 584'942'417LL,      // quarter
      12 * 584'942'417LL,     // month
      30'500'568'905LL,       // week
      213'503'982'334LL,      // day
      5'124'095'576'030LL,    // hour
      307'445'734'561'825LL,  // minute
      18'446'744'073'709'551LL,
  };
  auto i = static_cast<size_t>(unit);
  return i >= std::size(kLimits) || (amount <= kLimits[i] && amount >= -kLimits[i]);
}

bool AllConstant(const Call& call) {
  for (size_t i = 0; i < call.size(); ++i) {
    if (call.has(i) && call.operand(i).constant() == nullptr) {
      return false;
    }
  }
  return true;
}

}  // namespace

// Operands: startDate, unit, amount, timezone.
Result<Value> EvalDateAdd(const Call& call, EvalContext& eval) {
  std::string op(call.name());
  ASSIGN_OR_RETURN(Value start, call.Get(0, eval));
  ASSIGN_OR_RETURN(Value unit_value, call.Get(1, eval));
  ASSIGN_OR_RETURN(Value amount_value, call.Get(2, eval));
  ASSIGN_OR_RETURN(auto zone, ReadTimeZone(call, 3, eval));
  if (start.nullish() || unit_value.nullish() || amount_value.nullish() || !zone) {
    return Value::Null();
  }
  if (!IsDateLike(start)) {
    return Status(5166403, op + " requires startDate to be convertible to a date");
  }
  ASSIGN_OR_RETURN(date::Unit unit, ReadUnit(call, unit_value));
  auto amount = AsInt64Exact(amount_value);
  if (!amount) {
    return Status(5166405, op + " expects integer amount of time units");
  }
  if (op == "$dateSubtract") {
    if (*amount == INT64_MIN) {
      return Status(6045000,
                    "invalid $dateSubtract 'amount' parameter value: " + Show(amount_value));
    }
    amount = -*amount;
  }
  if (!AmountInRange(unit, *amount)) {
    return Status(5976500, "invalid " + op + " 'amount' parameter value: " + Show(amount_value));
  }
  ASSIGN_OR_RETURN(int64_t utc, CoerceToDate(start));
  auto result = date::Add(utc, unit, *amount, *zone);
  if (!result) {
    return Status(5166406, op + " overflowed");
  }
  return Value(bson::Date{*result});
}

// Operands: startDate, endDate, unit, timezone, startOfWeek.
Result<Value> EvalDateDiff(const Call& call, EvalContext& eval) {
  ASSIGN_OR_RETURN(Value start, call.Get(0, eval));
  ASSIGN_OR_RETURN(Value end, call.Get(1, eval));
  ASSIGN_OR_RETURN(Value unit_value, call.Get(2, eval));
  if (start.nullish() || end.nullish() || unit_value.nullish()) {
    return Value::Null();
  }
  ASSIGN_OR_RETURN(date::Unit unit, ReadUnit(call, unit_value));
  ASSIGN_OR_RETURN(auto zone, ReadTimeZone(call, 3, eval));
  std::optional<int> week_start = 0;
  if (unit == date::Unit::kWeek) {
    ASSIGN_OR_RETURN(week_start, ReadWeekStart(call, 4, eval));
  }
  if (!zone || !week_start) {
    return Value::Null();
  }
  if (!IsDateLike(start) || !IsDateLike(end)) {
    return Status(
        5166307, "$dateDiff requires '" + std::string(IsDateLike(start) ? "endDate" : "startDate") +
                     "' to be a date, but got " + TypeText(IsDateLike(start) ? end : start));
  }
  ASSIGN_OR_RETURN(int64_t from, CoerceToDate(start));
  ASSIGN_OR_RETURN(int64_t to, CoerceToDate(end));
  return Value(date::Diff(from, to, unit, *zone, *week_start));
}

// Operands: date, unit, binSize, timezone, startOfWeek.
Result<Value> EvalDateTrunc(const Call& call, EvalContext& eval) {
  ASSIGN_OR_RETURN(Value input, call.Get(0, eval));
  ASSIGN_OR_RETURN(Value unit_value, call.Get(1, eval));
  Value size_value(int64_t{1});
  if (call.has(2)) {
    ASSIGN_OR_RETURN(size_value, call.Get(2, eval));
  }
  if (input.nullish() || unit_value.nullish() || size_value.nullish()) {
    return Value::Null();
  }
  if (!IsDateLike(input)) {
    return Status(5166307, "$dateTrunc requires 'date' to be a date, but got " + TypeText(input));
  }
  ASSIGN_OR_RETURN(date::Unit unit, ReadUnit(call, unit_value));
  auto size = AsInt64Exact(size_value);
  if (!size) {
    return Status(5439017, "$dateTrunc requires 'binSize' to be a 64-bit integer, but got value '" +
                               Show(size_value) + "' of type " + TypeText(size_value));
  }
  if (*size <= 0) {
    return Status(5439018, "$dateTrunc requires 'binSize' to be greater than 0, but got value " +
                               Show(size_value));
  }
  ASSIGN_OR_RETURN(auto zone, ReadTimeZone(call, 3, eval));
  std::optional<int> week_start = 0;
  if (unit == date::Unit::kWeek) {
    ASSIGN_OR_RETURN(week_start, ReadWeekStart(call, 4, eval));
  } else if (call.has(4) && call.operand(4).constant() != nullptr && !AllConstant(call)) {
    // Not used, but MongoDB reads it when it prepares an expression of which it is a constant part.
    ASSIGN_OR_RETURN(week_start, ReadWeekStart(call, 4, eval));
  }
  if (!zone || !week_start) {
    return Value::Null();
  }
  ASSIGN_OR_RETURN(int64_t utc, CoerceToDate(input));
  ASSIGN_OR_RETURN(int64_t truncated, date::Truncate(utc, unit, *size, *zone, *week_start));
  return Value(bson::Date{truncated});
}

}  // namespace quire::expr::agg
