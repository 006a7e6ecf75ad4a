// SPDX-License-Identifier: Apache-2.0
//
// Functions of one number: rounding, powers, logarithms, trigonometry.
#include <cmath>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/decimal.h"
#include "bson/number.h"
#include "expr/agg/number_internal.h"
#include "expr/agg/operators_internal.h"
#include "expr/agg/result_internal.h"

namespace quire::expr::agg {

namespace {

namespace decimal = bson::decimal;
using bson::Decimal128;

Status NotNumeric(const Call& call, const Value& value) {
  return Status(call.name() == "$sigmoid" ? int{kTypeMismatch} : 28765,
                std::string(call.name()) + " only supports numeric types, not " + TypeText(value));
}

// The only operand: false when it is null.
Result<bool> ReadNumber(const Call& call, EvalContext& eval, Value* number) {
  ASSIGN_OR_RETURN(*number, call.Get(0, eval));
  if (number->nullish()) {
    return false;
  }
  if (!number->is_number()) {
    return NotNumeric(call, *number);
  }
  return true;
}

struct Function {
  std::string_view name;
  double (*on_double)(double);
  Decimal128 (*on_decimal)(Decimal128);
  // The open or closed interval of valid arguments.
  double min;
  double max;
  bool closed;
};

constexpr double kInf = HUGE_VAL;

double Radians(double d) { return d * (M_PI / 180.0); }
double Degrees(double d) { return d * (180.0 / M_PI); }

const Decimal128& DecimalPi() {
  static const Decimal128 pi = *decimal::FromString("3.141592653589793238462643383279503");
  return pi;
}
Decimal128 RadiansDecimal(Decimal128 d) {
  return decimal::Multiply(d, decimal::Divide(DecimalPi(), decimal::FromInt64(180)));
}
Decimal128 DegreesDecimal(Decimal128 d) {
  return decimal::Multiply(d, decimal::Divide(decimal::FromInt64(180), DecimalPi()));
}
double Sigmoid(double d) { return 1.0 / (1.0 + std::exp(-d)); }
Decimal128 SigmoidDecimal(Decimal128 d) {
  if (decimal::IsNan(d)) {
    return d;
  }
  Decimal128 one = decimal::FromInt64(1);
  return decimal::Divide(one, decimal::Add(one, decimal::Exp(decimal::Negate(d))));
}

constexpr Function kFunctions[] = {
    {"$sin", std::sin, decimal::Sin, -kInf, kInf, false},
    {"$cos", std::cos, decimal::Cos, -kInf, kInf, false},
    {"$tan", std::tan, decimal::Tan, -kInf, kInf, false},
    {"$asin", std::asin, decimal::Asin, -1, 1, true},
    {"$acos", std::acos, decimal::Acos, -1, 1, true},
    {"$atan", std::atan, decimal::Atan, -kInf, kInf, true},
    {"$sinh", std::sinh, decimal::Sinh, -kInf, kInf, true},
    {"$cosh", std::cosh, decimal::Cosh, -kInf, kInf, true},
    {"$tanh", std::tanh, decimal::Tanh, -kInf, kInf, true},
    {"$asinh", std::asinh, decimal::Asinh, -kInf, kInf, true},
    {"$acosh", std::acosh, decimal::Acosh, 1, kInf, true},
    {"$atanh", std::atanh, decimal::Atanh, -1, 1, true},
    {"$exp", std::exp, decimal::Exp, -kInf, kInf, true},
    {"$degreesToRadians", Radians, RadiansDecimal, -kInf, kInf, true},
    {"$radiansToDegrees", Degrees, DegreesDecimal, -kInf, kInf, true},
    {"$sigmoid", Sigmoid, SigmoidDecimal, -kInf, kInf, true},
};

const Function& FindFunction(std::string_view name) {
  for (const Function& function : kFunctions) {
    if (function.name == name) {
      return function;
    }
  }
  return kFunctions[0];
}

Status OutOfBounds(const Function& f, const Value& number) {
  std::string low = f.min == -kInf ? "-inf" : std::to_string(static_cast<int>(f.min));
  std::string high = f.max == kInf ? "inf" : std::to_string(static_cast<int>(f.max));
  return Status(50989, "cannot apply " + std::string(f.name) + " to " + Show(number) +
                           ", value must be in " + (f.closed ? "[" : "(") + low + "," + high +
                           (f.closed ? "]" : ")"));
}

template <typename OnDouble, typename OnDecimal>
Value Apply(const Value& number, OnDouble on_double, OnDecimal on_decimal) {
  if (number.type() == Type::kDecimal128) {
    return Value(on_decimal(number.AsDecimal()));
  }
  return Value(static_cast<double>(on_double(bson::ToDouble(number))));
}

// NaN when the integer has more digits than a decimal holds, infinity included.
Decimal128 CeilDecimal(Decimal128 d) {
  return decimal::Quantize(d, decimal::kZero, decimal::Rounding::kUp);
}
Decimal128 FloorDecimal(Decimal128 d) {
  return decimal::Quantize(d, decimal::kZero, decimal::Rounding::kDown);
}

// Adding this zero fills a result up to 34 digits.
constexpr Decimal128 kSmallestZero{0, 0};

bool IsDecimalNan(const Value& number) {
  return number.type() == Type::kDecimal128 && bson::IsNan(number);
}

bool NotPositive(const Value& number) {
  return !bson::IsNan(number) && (bson::IsZero(number) || bson::IsNegative(number));
}

// `base` to the power of a non-negative `exponent`; false on overflow.
bool IntegerPower(int64_t base, int64_t exponent, int64_t* out) {
  int64_t result = 1;
  while (exponent > 0) {
    if ((exponent & 1) != 0 && __builtin_mul_overflow(result, base, &result)) {
      return false;
    }
    exponent >>= 1;
    if (exponent > 0 && __builtin_mul_overflow(base, base, &base)) {
      return false;
    }
  }
  *out = result;
  return true;
}

Value PowerOfIntegers(const Value& base, const Value& exponent) {
  bool narrow = base.type() == Type::kInt32 && exponent.type() == Type::kInt32;
  auto format = [&](int64_t i) { return narrow ? bson::NarrowInt(i) : Value(i); };
  int64_t b = base.AsInt64();
  int64_t e = exponent.AsInt64();
  int64_t result = 0;
  if (b == 1 || b == -1) {
    return format(b == 1 || e % 2 == 0 ? 1 : -1);
  }
  if (e >= 0 && ((b == 0 && e > 0) || IntegerPower(b, e, &result))) {
    return format(b == 0 && e > 0 ? 0 : result);
  }
  return Value(std::pow(static_cast<double>(b), static_cast<double>(e)));
}

Result<int> Precision(const Call& call, const Value& place) {
  ASSIGN_OR_RETURN(int64_t n, CoerceToLong(place));
  if (!bson::ExactInt64(place)) {
    return Status(
        51082, "precision argument to  " + std::string(call.name()) + " must be a integral value");
  }
  if (n < -20 || n > 100) {
    return Status(51083, "cannot apply " + std::string(call.name()) + " with precision value " +
                             std::to_string(n) + " value must be in [-20, 100]");
  }
  return static_cast<int>(n);
}

Result<Value> RoundNumber(const Call& call, const Value& number, int place,
                          decimal::Rounding rounding) {
  switch (number.type()) {
    case Type::kDecimal128:
      return Value(decimal::RoundToPlace(number.AsDecimal(), place, rounding));
    case Type::kDouble: {
      double d = number.AsDouble();
      if (!std::isfinite(d)) {
        return number;
      }
      return Value(
          decimal::ToDouble(decimal::RoundToPlace(decimal::FromDoubleExact(d), place, rounding)));
    }
    default:
      break;
  }
  if (place >= 0) {
    return number;
  }
  auto rounded = decimal::ToInt64(
      decimal::RoundToPlace(decimal::FromInt64(number.AsInt64()), place, rounding));
  if (!rounded) {
    return Status(51080, "invalid conversion from Decimal128 result in " +
                             std::string(call.name()) + " resulting from arguments: [" +
                             Show(number) + ", " + std::to_string(place) + "]");
  }
  return number.type() == Type::kInt32 ? bson::NarrowInt(*rounded) : Value(*rounded);
}

Result<Value> EvalRounding(const Call& call, EvalContext& eval, decimal::Rounding rounding) {
  ASSIGN_OR_RETURN(Value number, call.Get(0, eval));
  if (number.nullish()) {
    return Value::Null();
  }
  if (!number.is_number()) {
    return Status(
        51081, std::string(call.name()) + " only supports numeric types, not " + TypeText(number));
  }
  Value place(0);
  if (call.has(1)) {
    ASSIGN_OR_RETURN(place, call.Get(1, eval));
  }
  if (place.nullish()) {
    return Value::Null();
  }
  ASSIGN_OR_RETURN(int digits, Precision(call, place));
  return RoundNumber(call, number, digits, rounding);
}

// What `function` makes of the only argument, a number; null of a missing one.
template <typename Function>
Result<Value> OnNumber(const Call& call, EvalContext& eval, Function function) {
  Value number;
  ASSIGN_OR_RETURN(bool present, ReadNumber(call, eval, &number));
  return present ? function(number) : Result<Value>(Value::Null());
}

template <typename OnDouble, typename OnDecimal>
Result<Value> RoundToInteger(const Value& number, OnDouble on_double, OnDecimal on_decimal) {
  bool integer = number.type() == Type::kInt32 || number.type() == Type::kInt64;
  return integer ? number : Apply(number, on_double, on_decimal);
}

template <typename OnDouble, typename OnDecimal>
Result<Value> EvalLogarithm(const Call& call, EvalContext& eval, int domain_error,
                            OnDouble on_double, OnDecimal on_decimal) {
  return OnNumber(call, eval, [&](const Value& number) -> Result<Value> {
    if (NotPositive(number)) {
      return Status(domain_error, std::string(call.name()) +
                                      "'s argument must be a positive number, but is " +
                                      Show(number));
    }
    return IsDecimalNan(number) ? Value(std::nan("")) : Apply(number, on_double, on_decimal);
  });
}

}  // namespace

Result<Value> EvalFunctionOfOne(const Call& call, EvalContext& eval) {
  const Function& function = FindFunction(call.name());
  Value number;
  ASSIGN_OR_RETURN(bool present, ReadNumber(call, eval, &number));
  if (!present) {
    return Value::Null();
  }
  if (!bson::IsNan(number)) {
    double d = bson::ToDouble(number);
    bool inside = function.closed ? d >= function.min && d <= function.max
                                  : d > function.min && d < function.max;
    if (!inside) {
      return OutOfBounds(function, number);
    }
  }
  return Apply(number, function.on_double, function.on_decimal);
}

Result<Value> EvalAtan2(const Call& call, EvalContext& eval) {
  Value sides[2];
  for (size_t i = 0; i < 2; ++i) {
    ASSIGN_OR_RETURN(sides[i], call.Get(i, eval));
    if (sides[i].nullish()) {
      return Value::Null();
    }
    if (!sides[i].is_number()) {
      return Status(i == 0 ? 51044 : 51045,
                    "$atan2 only supports numeric types, not " + TypeText(sides[i]));
    }
  }
  const auto& [y, x] = sides;
  if (bson::WiderNumber(y.type(), x.type()) == Type::kDecimal128) {
    return Value(decimal::Atan2(bson::ToDecimal(y), bson::ToDecimal(x)));
  }
  return Value(std::atan2(bson::ToDouble(y), bson::ToDouble(x)));
}

Result<Value> EvalAbs(const Call& call, EvalContext& eval) {
  Value number;
  ASSIGN_OR_RETURN(bool present, ReadNumber(call, eval, &number));
  if (!present) {
    return Value::Null();
  }
  switch (number.type()) {
    case Type::kDouble:
      return Value(std::fabs(number.AsDouble()));
    case Type::kDecimal128:
      return Value(decimal::Abs(number.AsDecimal()));
    case Type::kInt64:
      if (number.AsInt64() == INT64_MIN) {
        return Status(28680, "can't take $abs of long long min");
      }
      return Value(number.AsInt64() < 0 ? -number.AsInt64() : number.AsInt64());
    default:
      return bson::NarrowInt(number.AsInt64() < 0 ? -number.AsInt64() : number.AsInt64());
  }
}

Result<Value> EvalCeil(const Call& call, EvalContext& eval) {
  return OnNumber(call, eval, [](const Value& number) {
    return RoundToInteger(
        number, [](double d) { return std::ceil(d); }, CeilDecimal);
  });
}

Result<Value> EvalFloor(const Call& call, EvalContext& eval) {
  return OnNumber(call, eval, [](const Value& number) {
    return RoundToInteger(
        number, [](double d) { return std::floor(d); }, FloorDecimal);
  });
}

Result<Value> EvalRound(const Call& call, EvalContext& eval) {
  return EvalRounding(call, eval, decimal::Rounding::kNearestEven);
}

Result<Value> EvalTrunc(const Call& call, EvalContext& eval) {
  return EvalRounding(call, eval, decimal::Rounding::kToZero);
}

Result<Value> EvalSqrt(const Call& call, EvalContext& eval) {
  return OnNumber(call, eval, [](const Value& number) -> Result<Value> {
    if (bson::IsNegative(number)) {
      return Status(28714, "$sqrt's argument must be greater than or equal to 0");
    }
    return Apply(
        number, [](double d) { return std::sqrt(d); }, decimal::Sqrt);
  });
}

Result<Value> EvalLn(const Call& call, EvalContext& eval) {
  return EvalLogarithm(
      call, eval, 28766, [](double d) { return std::log(d); }, decimal::Ln);
}

Result<Value> EvalLog10(const Call& call, EvalContext& eval) {
  return EvalLogarithm(
      call, eval, 28761, [](double d) { return std::log10(d); }, decimal::Log10);
}

Result<Value> EvalLog(const Call& call, EvalContext& eval) {
  ASSIGN_OR_RETURN(Value number, call.Get(0, eval));
  ASSIGN_OR_RETURN(Value base, call.Get(1, eval));
  if (number.nullish() || base.nullish()) {
    return Value::Null();
  }
  if (!number.is_number()) {
    return Status(28756, "$log's argument must be numeric, not " + TypeText(number));
  }
  if (!base.is_number()) {
    return Status(28757, "$log's base must be numeric, not " + TypeText(base));
  }
  if (NotPositive(number)) {
    return Status(28758, "$log's argument must be a positive number, but is " + Show(number));
  }
  if (NotPositive(base) || bson::ExactInt64(base) == 1) {
    return Status(28759,
                  "$log's base must be a positive number not equal to 1, but is " + Show(base));
  }
  if (IsDecimalNan(number) || IsDecimalNan(base)) {
    return Value(std::nan(""));
  }
  if (bson::WiderNumber(number.type(), base.type()) == Type::kDecimal128) {
    return Value(
        decimal::Divide(decimal::Ln(bson::ToDecimal(number)), decimal::Ln(bson::ToDecimal(base))));
  }
  return Value(std::log(bson::ToDouble(number)) / std::log(bson::ToDouble(base)));
}

Result<Value> EvalPow(const Call& call, EvalContext& eval) {
  ASSIGN_OR_RETURN(Value base, call.Get(0, eval));
  ASSIGN_OR_RETURN(Value exponent, call.Get(1, eval));
  if (base.nullish() || exponent.nullish()) {
    return Value::Null();
  }
  if (!base.is_number()) {
    return Status(28762, "$pow's base must be numeric, not " + TypeText(base));
  }
  if (!exponent.is_number()) {
    return Status(28763, "$pow's exponent must be numeric, not " + TypeText(exponent));
  }
  if (bson::IsZero(base) && bson::IsNegative(exponent)) {
    return Status(28764, "$pow cannot take a base of 0 and a negative exponent");
  }
  switch (bson::WiderNumber(base.type(), exponent.type())) {
    case Type::kDecimal128:
      return Value(decimal::Add(decimal::Pow(bson::ToDecimal(base), bson::ToDecimal(exponent)),
                                kSmallestZero));
    case Type::kDouble:
      return Value(std::pow(bson::ToDouble(base), bson::ToDouble(exponent)));
    default:
      return PowerOfIntegers(base, exponent);
  }
}

}  // namespace quire::expr::agg
