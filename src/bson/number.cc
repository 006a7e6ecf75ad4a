// SPDX-License-Identifier: Apache-2.0
#include "bson/number.h"

#include <cmath>
#include <limits>

#include "bson/decimal.h"

namespace quire::bson {

namespace {

constexpr double kTwo63 = 9223372036854775808.0;

bool IsInteger(const Value& v) { return v.type() == Type::kInt32 || v.type() == Type::kInt64; }

int Width(Type type) {
  switch (type) {
    case Type::kInt32:
      return 0;
    case Type::kInt64:
      return 1;
    case Type::kDouble:
      return 2;
    default:
      return 3;
  }
}

std::optional<int64_t> TruncatedDouble(double d) {
  if (!(d >= -kTwo63 && d < kTwo63)) {
    return std::nullopt;
  }
  return static_cast<int64_t>(d);
}

// One row per operation: the same rules around three functions.
struct Operation {
  bool (*overflows)(int64_t, int64_t, int64_t*);
  double (*doubles)(double, double);
  Decimal128 (*decimals)(Decimal128, Decimal128);
};

constexpr Operation kAdd = {
    [](int64_t a, int64_t b, int64_t* out) { return __builtin_add_overflow(a, b, out); },
    [](double a, double b) { return a + b; }, decimal::Add};
constexpr Operation kSubtract = {
    [](int64_t a, int64_t b, int64_t* out) { return __builtin_sub_overflow(a, b, out); },
    [](double a, double b) { return a - b; }, decimal::Subtract};
constexpr Operation kMultiply = {
    [](int64_t a, int64_t b, int64_t* out) { return __builtin_mul_overflow(a, b, out); },
    [](double a, double b) { return a * b; }, decimal::Multiply};

std::optional<Value> Checked(const Operation& op, const Value& a, const Value& b) {
  Type type = WiderNumber(a.type(), b.type());
  if (type == Type::kDecimal128) {
    return Value(op.decimals(ToDecimal(a), ToDecimal(b)));
  }
  if (type == Type::kDouble) {
    return Value(op.doubles(ToDouble(a), ToDouble(b)));
  }
  int64_t result;
  if (op.overflows(a.AsInt64(), b.AsInt64(), &result)) {
    return std::nullopt;
  }
  return type == Type::kInt32 ? NarrowInt(result) : Value(result);
}

Value Promoting(const Operation& op, const Value& a, const Value& b) {
  std::optional<Value> result = Checked(op, a, b);
  return result ? *result : Value(op.doubles(ToDouble(a), ToDouble(b)));
}

}  // namespace

Type WiderNumber(Type a, Type b) { return Width(a) >= Width(b) ? a : b; }

bool IsNan(const Value& number) {
  if (number.type() == Type::kDouble) {
    return std::isnan(number.AsDouble());
  }
  return number.type() == Type::kDecimal128 && decimal::IsNan(number.AsDecimal());
}

bool IsInfinite(const Value& number) {
  if (number.type() == Type::kDouble) {
    return std::isinf(number.AsDouble());
  }
  return number.type() == Type::kDecimal128 && decimal::IsInfinite(number.AsDecimal());
}

bool IsZero(const Value& number) {
  if (number.type() == Type::kDouble) {
    return number.AsDouble() == 0;
  }
  return number.type() == Type::kDecimal128 ? decimal::IsZero(number.AsDecimal())
                                            : number.AsInt64() == 0;
}

bool IsNegative(const Value& number) {
  if (number.type() == Type::kDouble) {
    return number.AsDouble() < 0;
  }
  if (number.type() == Type::kDecimal128) {
    Decimal128 d = number.AsDecimal();
    return decimal::IsNegative(d) && !decimal::IsNan(d) && !decimal::IsZero(d);
  }
  return number.AsInt64() < 0;
}

bool IsIntegral(const Value& number) {
  if (number.type() == Type::kDouble) {
    double d = number.AsDouble();
    return std::isfinite(d) && std::trunc(d) == d;
  }
  if (number.type() == Type::kDecimal128) {
    Decimal128 d = number.AsDecimal();
    return decimal::IsFinite(d) && decimal::Compare(decimal::Trunc(d), d) == 0;
  }
  return true;
}

std::optional<int64_t> ExactInt64(const Value& value) {
  if (IsInteger(value)) {
    return value.AsInt64();
  }
  if (!value.is_number() || !IsIntegral(value)) {
    return std::nullopt;
  }
  return TruncatedInt64(value);
}

std::optional<int32_t> ExactInt32(const Value& value) {
  std::optional<int64_t> i = ExactInt64(value);
  if (!i || *i != static_cast<int32_t>(*i)) {
    return std::nullopt;
  }
  return static_cast<int32_t>(*i);
}

std::optional<int64_t> TruncatedInt64(const Value& value) {
  if (IsInteger(value)) {
    return value.AsInt64();
  }
  if (value.type() == Type::kDouble) {
    return TruncatedDouble(value.AsDouble());
  }
  if (value.type() == Type::kDecimal128) {
    return decimal::ToInt64(value.AsDecimal());
  }
  return std::nullopt;
}

int64_t ClampedInt64(const Value& number) {
  if (std::optional<int64_t> i = TruncatedInt64(number)) {
    return *i;
  }
  if (IsNan(number)) {
    return 0;
  }
  return IsNegative(number) ? std::numeric_limits<int64_t>::min()
                            : std::numeric_limits<int64_t>::max();
}

double ToDouble(const Value& number) {
  if (number.type() == Type::kDouble) {
    return number.AsDouble();
  }
  return number.type() == Type::kDecimal128 ? decimal::ToDouble(number.AsDecimal())
                                            : static_cast<double>(number.AsInt64());
}

Decimal128 ToDecimal(const Value& number) {
  if (number.type() == Type::kDecimal128) {
    return number.AsDecimal();
  }
  return number.type() == Type::kDouble ? decimal::FromDouble(number.AsDouble())
                                        : decimal::FromInt64(number.AsInt64());
}

Value NarrowInt(int64_t i) {
  return i == static_cast<int32_t>(i) ? Value(static_cast<int32_t>(i)) : Value(i);
}

Value Add(const Value& a, const Value& b) { return Promoting(kAdd, a, b); }
Value Subtract(const Value& a, const Value& b) { return Promoting(kSubtract, a, b); }
Value Multiply(const Value& a, const Value& b) { return Promoting(kMultiply, a, b); }
std::optional<Value> CheckedAdd(const Value& a, const Value& b) { return Checked(kAdd, a, b); }
std::optional<Value> CheckedSubtract(const Value& a, const Value& b) {
  return Checked(kSubtract, a, b);
}
std::optional<Value> CheckedMultiply(const Value& a, const Value& b) {
  return Checked(kMultiply, a, b);
}

Value Divide(const Value& a, const Value& b) {
  if (WiderNumber(a.type(), b.type()) == Type::kDecimal128) {
    return Value(decimal::Divide(ToDecimal(a), ToDecimal(b)));
  }
  return Value(ToDouble(a) / ToDouble(b));
}

Value Mod(const Value& a, const Value& b) {
  if (WiderNumber(a.type(), b.type()) == Type::kDecimal128) {
    return Value(decimal::Mod(ToDecimal(a), ToDecimal(b)));
  }
  if (a.type() == Type::kDouble || b.type() == Type::kDouble) {
    return Value(std::fmod(ToDouble(a), ToDouble(b)));
  }
  int64_t result = b.AsInt64() == -1 ? 0 : a.AsInt64() % b.AsInt64();
  bool is_long = a.type() == Type::kInt64 || b.type() == Type::kInt64;
  return is_long ? Value(result) : Value(static_cast<int32_t>(result));
}

Value Negate(const Value& number) {
  if (number.type() == Type::kDouble) {
    return Value(-number.AsDouble());
  }
  if (number.type() == Type::kDecimal128) {
    return Value(decimal::Negate(number.AsDecimal()));
  }
  return Subtract(Value(int32_t{0}), number);
}

}  // namespace quire::bson
