// SPDX-License-Identifier: Apache-2.0
//
// $convert and its shorthands, $type and $isNumber.
#include <charconv>
#include <cmath>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/compare.h"
#include "bson/decimal.h"
#include "bson/number.h"
#include "expr/agg/convert_internal.h"
#include "expr/agg/operators_internal.h"
#include "expr/agg/result_internal.h"
#include "expr/agg/text_internal.h"
#include "expr/date/format.h"

namespace quire::expr::agg {

namespace {

namespace decimal = bson::decimal;

Status Failure(std::string why) { return Status(kConversionFailure, std::move(why)); }

Status Unsupported(const Value& value, Type to) {
  return Failure("Unsupported conversion from " + TypeText(value.type()) + " to " + TypeText(to) +
                 " in $convert with no onError value");
}

Status BadNumber(std::string_view text, std::string_view why) {
  return Failure("Failed to parse number '" + std::string(text) +
                 "' in $convert with no onError value: " + std::string(why));
}

Status WouldOverflow(const Value& value) {
  return Failure("Conversion would overflow target type in $convert with no onError value: " +
                 Show(value));
}

bool LooksHexadecimal(std::string_view text) {
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) {
    text.remove_prefix(1);
  }
  return text.size() > 1 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
}

Result<int64_t> ParseInteger(std::string_view text, int64_t min, int64_t max) {
  std::string_view digits = text;
  if (!digits.empty() && digits[0] == '+') {
    digits.remove_prefix(1);
    if (!digits.empty() && digits[0] == '-') {
      return BadNumber(text, "Did not consume any digits");
    }
  }
  int64_t value = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error == std::errc::invalid_argument) {
    return BadNumber(text, "Did not consume any digits");
  }
  if (end != digits.data() + digits.size()) {
    return BadNumber(text, "Did not consume whole string.");
  }
  if (error == std::errc::result_out_of_range || value < min || value > max) {
    return BadNumber(text, "Overflow");
  }
  return value;
}

Result<double> ParseDouble(std::string_view text) {
  std::string_view digits = text;
  if (text.starts_with("0x")) {
    return BadNumber(text, "Illegal hexadecimal input");
  }
  bool negative = digits.starts_with('-');
  if (negative || digits.starts_with('+')) {
    digits.remove_prefix(1);
    if (digits.starts_with('-')) {
      return BadNumber(text, "Did not consume any digits");
    }
  }
  // A hexadecimal float is read behind a sign or as 0X.
  bool hexadecimal = LooksHexadecimal(digits);
  if (hexadecimal) {
    digits.remove_prefix(2);
  }
  double value = 0;
  auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value,
                      hexadecimal ? std::chars_format::hex : std::chars_format::general);
  if (error == std::errc::invalid_argument) {
    return BadNumber(text, "Did not consume any digits");
  }
  if (end != digits.data() + digits.size()) {
    return BadNumber(text, "Did not consume whole string.");
  }
  if (error == std::errc::result_out_of_range) {
    return BadNumber(text, "Out of range");
  }
  return negative ? -value : value;
}

// A number truncated towards zero into [min, max].
Result<int64_t> TruncateNumber(const Value& value, int64_t min, int64_t max) {
  if (bson::IsNan(value)) {
    return Failure(
        "Attempt to convert NaN value to integer type in $convert with no onError "
        "value");
  }
  if (bson::IsInfinite(value)) {
    return Failure(
        "Attempt to convert infinity value to integer type in $convert with no onError "
        "value");
  }
  // Of an int the number itself has to be in range, not only its integral part as of a long.
  auto n = bson::TruncatedInt64(value);
  bool narrow = max < INT64_MAX;
  if (!n || (narrow && (bson::CompareNumbers(value, Value(min)) < 0 ||
                        bson::CompareNumbers(value, Value(max)) > 0))) {
    return WouldOverflow(value);
  }
  return *n;
}

Result<Value> ToInteger(const Value& value, Type to) {
  bool wide = to == Type::kInt64;
  int64_t min = wide ? INT64_MIN : INT32_MIN;
  int64_t max = wide ? INT64_MAX : INT32_MAX;
  int64_t n = 0;
  switch (value.type()) {
    case Type::kString: {
      if (LooksHexadecimal(value.AsString())) {
        return BadNumber(value.AsString(), "Illegal hexadecimal input");
      }
      ASSIGN_OR_RETURN(n, ParseInteger(value.AsString(), min, max));
      break;
    }
    case Type::kBool:
      n = value.AsBool() ? 1 : 0;
      break;
    case Type::kDate:
      if (!wide) {
        return Unsupported(value, to);
      }
      n = value.AsDate().millis;
      break;
    case Type::kInt32:
    case Type::kInt64:
    case Type::kDouble:
    case Type::kDecimal128: {
      ASSIGN_OR_RETURN(n, TruncateNumber(value, min, max));
      break;
    }
    default:
      return Unsupported(value, to);
  }
  return wide ? Value(n) : Value(static_cast<int32_t>(n));
}

Result<Value> ToDoubleValue(const Value& value) {
  switch (value.type()) {
    case Type::kString: {
      ASSIGN_OR_RETURN(double d, ParseDouble(value.AsString()));
      return Value(d);
    }
    case Type::kBool:
      return Value(value.AsBool() ? 1.0 : 0.0);
    case Type::kDate:
      return Value(static_cast<double>(value.AsDate().millis));
    case Type::kDecimal128: {
      decimal::Flags flags;
      double d = decimal::ToDouble(value.AsDecimal(), decimal::Rounding::kNearestEven, &flags);
      if (flags.overflow || (flags.underflow && d == 0)) {
        return WouldOverflow(value);
      }
      return Value(d);
    }
    default:
      return value.is_number() ? Result<Value>(Value(bson::ToDouble(value)))
                               : Unsupported(value, Type::kDouble);
  }
}

Result<Value> ToDecimalValue(const Value& value) {
  switch (value.type()) {
    case Type::kString: {
      std::string_view text = value.AsString();
      if (LooksHexadecimal(text)) {
        return BadNumber(text, "Illegal hexadecimal input");
      }
      decimal::Flags flags;
      auto parsed = decimal::FromString(text, &flags);
      if (!parsed) {
        return BadNumber(text, "Failed to parse string to decimal");
      }
      if (flags.overflow) {
        return BadNumber(text, "Conversion from string to decimal would overflow");
      }
      if (flags.underflow) {
        return BadNumber(text, "Conversion from string to decimal would underflow");
      }
      return Value(*parsed);
    }
    case Type::kBool:
      return Value(decimal::FromInt64(value.AsBool() ? 1 : 0));
    case Type::kDate:
      return Value(decimal::FromInt64(value.AsDate().millis));
    default:
      return value.is_number() ? Result<Value>(Value(bson::ToDecimal(value)))
                               : Unsupported(value, Type::kDecimal128);
  }
}

Result<Value> ToDateValue(const Value& value) {
  switch (value.type()) {
    case Type::kDate:
      return value;
    case Type::kString: {
      ASSIGN_OR_RETURN(int64_t millis, date::ParseFree(value.AsString(), nullptr));
      return Value(bson::Date{millis});
    }
    case Type::kInt64:
    case Type::kDouble:
    case Type::kDecimal128: {
      ASSIGN_OR_RETURN(int64_t millis, TruncateNumber(value, INT64_MIN, INT64_MAX));
      return Value(bson::Date{millis});
    }
    case Type::kTimestamp:
      return Value(bson::Date{int64_t{value.AsTimestamp().seconds} * 1000});
    case Type::kObjectId:
      return Value(bson::Date{ObjectIdSeconds(value.AsObjectId()) * 1000});
    default:
      return Unsupported(value, Type::kDate);
  }
}

Result<Value> ToObjectIdValue(const Value& value) {
  if (value.type() == Type::kObjectId) {
    return value;
  }
  if (!value.is_string()) {
    return Unsupported(value, Type::kObjectId);
  }
  std::string_view text = value.AsString();
  std::string prefix =
      "Failed to parse objectId '" + std::string(text) + "' in $convert with no onError value: ";
  if (text.size() != 24) {
    return Failure(prefix + "Invalid string length for parsing to OID, expected 24 but found " +
                   std::to_string(text.size()));
  }
  bson::ObjectId id;
  for (size_t i = 0; i < 12; ++i) {
    auto [end, error] = std::from_chars(&text[2 * i], &text[2 * i] + 2, id.bytes[i], 16);
    if (error != std::errc() || end != &text[2 * i] + 2) {
      return Failure(prefix + "Invalid character found in hex string");
    }
  }
  return Value(id);
}

Result<Value> ToBoolValue(const Value& value) {
  bool truth = value.type() == Type::kBool || value.is_number() ? IsTrue(value) : true;
  return Value(truth);
}

Result<Value> ToStringValue(const Value& value, EvalContext& eval) {
  switch (value.type()) {
    case Type::kString:
      return value;
    case Type::kDouble:
      return MakeString(eval, DoubleText(value.AsDouble()));
    case Type::kInt32:
    case Type::kInt64:
      return MakeString(eval, std::to_string(value.AsInt64()));
    case Type::kDecimal128:
      return MakeString(eval, decimal::ToString(value.AsDecimal()));
    case Type::kBool:
      return Value(value.AsBool() ? "true" : "false");
    case Type::kObjectId:
      return MakeString(eval, value.AsObjectId().ToHex());
    case Type::kDate: {
      ASSIGN_OR_RETURN(std::string text, date::FormatIso(value.AsDate().millis));
      return MakeString(eval, std::move(text));
    }
    default:
      return Unsupported(value, Type::kString);
  }
}

}  // namespace

int64_t ObjectIdSeconds(const bson::ObjectId& id) {
  uint32_t seconds = 0;
  for (size_t i = 0; i < 4; ++i) {
    seconds = seconds << 8 | id.bytes[i];
  }
  return static_cast<int32_t>(seconds);
}

Result<Value> ConvertTo(const Value& value, const ConvertTarget& target, EvalContext& eval) {
  if (target.type == Type::kBinary || value.type() == Type::kBinary) {
    return ConvertBinary(value, target, eval);
  }
  switch (target.type) {
    case Type::kDouble:
      return ToDoubleValue(value);
    case Type::kString:
      return ToStringValue(value, eval);
    case Type::kObjectId:
      return ToObjectIdValue(value);
    case Type::kBool:
      return ToBoolValue(value);
    case Type::kDate:
      return ToDateValue(value);
    case Type::kInt32:
    case Type::kInt64:
      return ToInteger(value, target.type);
    case Type::kDecimal128:
      return ToDecimalValue(value);
    default:
      return Unsupported(value, target.type);
  }
}

namespace {

struct Shorthand {
  std::string_view name;
  Type type;
};
constexpr Shorthand kShorthands[] = {
    {"$toBool", Type::kBool},          {"$toDate", Type::kDate},     {"$toDouble", Type::kDouble},
    {"$toDecimal", Type::kDecimal128}, {"$toInt", Type::kInt32},     {"$toLong", Type::kInt64},
    {"$toObjectId", Type::kObjectId},  {"$toString", Type::kString}, {"$toUUID", Type::kBinary},
};

}  // namespace

Result<Value> EvalToType(const Call& call, EvalContext& eval) {
  ASSIGN_OR_RETURN(Value value, call.Get(0, eval));
  if (value.nullish()) {
    return Value::Null();
  }
  ConvertTarget target;
  for (const Shorthand& row : kShorthands) {
    target.type = row.name == call.name() ? row.type : target.type;
  }
  if (target.type == Type::kBinary) {
    target.subtype = 4;
    target.format = "uuid";
  } else if (target.type == Type::kString && value.type() == Type::kBinary) {
    target.format = "auto";
  }
  return ConvertTo(value, target, eval);
}

Result<ExpressionPtr> ParseToType(const OperatorRow& row, const Value& spec, ParseScope& scope) {
  ASSIGN_OR_RETURN(Operands operands, ParseOperands(spec, scope));
  if (operands.size() != 1) {
    return Status(50723, std::string(row.name) + " requires a single argument, got " +
                             std::to_string(operands.size()));
  }
  return MakeCall(row, std::move(operands), scope);
}

Result<Value> EvalType(const Call& call, EvalContext& eval) {
  ASSIGN_OR_RETURN(Value value, call.Get(0, eval));
  return Value(bson::TypeName(value.type()));
}

Result<Value> EvalIsNumber(const Call& call, EvalContext& eval) {
  ASSIGN_OR_RETURN(Value value, call.Get(0, eval));
  return Value(value.is_number());
}

}  // namespace quire::expr::agg
