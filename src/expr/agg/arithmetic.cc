// SPDX-License-Identifier: Apache-2.0
//
// $add, $subtract, $multiply, $divide, $mod and the bit operators.
#include "base/error_codes.h"
#include "base/try.h"
#include "bson/decimal.h"
#include "bson/number.h"
#include "expr/agg/number_internal.h"
#include "expr/agg/operators_internal.h"
#include "expr/agg/result_internal.h"
#include "expr/summation.h"

namespace quire::expr::agg {

namespace {

// A number of milliseconds, halves rounded away from zero.
Result<int64_t> Milliseconds(const Value& number, std::string_view op) {
  Summation sum;
  sum.Add(number);
  int64_t millis = 0;
  if (!sum.RoundedInt64(&millis)) {
    return Status(kOverflow, "date overflow in " + std::string(op));
  }
  return millis;
}

Result<Value> SubtractDates(const Value& a, const Value& b) {
  int64_t millis = 0;
  if (b.type() == Type::kDate) {
    if (__builtin_sub_overflow(a.AsDate().millis, b.AsDate().millis, &millis)) {
      return Status(kOverflow, "date overflow in $subtract");
    }
    return Value(millis);
  }
  if (!b.is_number()) {
    return Status(kTypeMismatch, "can't $subtract " + TypeText(b) + " from date");
  }
  ASSIGN_OR_RETURN(int64_t amount, Milliseconds(b, "$subtract"));
  if (__builtin_sub_overflow(a.AsDate().millis, amount, &millis)) {
    return Status(kOverflow, "date overflow in $subtract");
  }
  return Value(bson::Date{millis});
}

}  // namespace

Result<Value> EvalAdd(const Call& call, EvalContext& eval) {
  Summation sum;
  Value date;
  for (size_t i = 0; i < call.size(); ++i) {
    ASSIGN_OR_RETURN(Value value, call.Get(i, eval));
    if (value.nullish()) {
      return Value::Null();
    }
    if (value.type() == Type::kDate) {
      if (!date.missing()) {
        return Status(16612, "only one date allowed in an $add expression");
      }
      date = value;
    } else if (value.is_number()) {
      sum.Add(value);
    } else {
      return Status(kTypeMismatch,
                    "only numbers and dates are allowed in $add, not " + TypeText(value));
    }
  }
  if (date.missing()) {
    return sum.AddedSum();
  }
  int64_t millis = 0;
  if (!sum.RoundedInt64(&millis) || __builtin_add_overflow(date.AsDate().millis, millis, &millis)) {
    return Status(kOverflow, "date overflow in $add");
  }
  return Value(bson::Date{millis});
}

Result<Value> EvalSubtract(const Call& call, EvalContext& eval) {
  ASSIGN_OR_RETURN(Value a, call.Get(0, eval));
  ASSIGN_OR_RETURN(Value b, call.Get(1, eval));
  if (a.nullish() || b.nullish()) {
    return Value::Null();
  }
  if (a.is_number() && b.is_number()) {
    return bson::Subtract(a, b);
  }
  if (a.type() == Type::kDate) {
    return SubtractDates(a, b);
  }
  return Status(kTypeMismatch, "can't $subtract " + TypeText(b) + " from " + TypeText(a));
}

Result<Value> EvalMultiply(const Call& call, EvalContext& eval) {
  Value product(1);
  Type widest = Type::kInt32;
  for (size_t i = 0; i < call.size(); ++i) {
    ASSIGN_OR_RETURN(Value value, call.Get(i, eval));
    if (value.nullish()) {
      return Value::Null();
    }
    if (!value.is_number()) {
      return Status(kTypeMismatch, "$multiply only supports numeric types, not " + TypeText(value));
    }
    widest = bson::WiderNumber(widest, value.type());
    product = i == 0 ? value : bson::Multiply(product, value);
  }
  if (widest == Type::kInt32 && product.type() == Type::kInt64) {
    return bson::NarrowInt(product.AsInt64());
  }
  return product;
}

Result<Value> EvalDivide(const Call& call, EvalContext& eval) {
  ASSIGN_OR_RETURN(Value a, call.Get(0, eval));
  ASSIGN_OR_RETURN(Value b, call.Get(1, eval));
  if (a.nullish() || b.nullish()) {
    return Value::Null();
  }
  if (!a.is_number() || !b.is_number()) {
    return Status(kTypeMismatch, "$divide only supports numeric types, not " + TypeText(a) +
                                     " and " + TypeText(b));
  }
  if (bson::IsZero(b)) {
    return Status(kBadValue, "can't $divide by zero");
  }
  return bson::Divide(a, b);
}

Result<Value> EvalMod(const Call& call, EvalContext& eval) {
  ASSIGN_OR_RETURN(Value a, call.Get(0, eval));
  ASSIGN_OR_RETURN(Value b, call.Get(1, eval));
  if (a.nullish() || b.nullish()) {
    return Value::Null();
  }
  if (!a.is_number() || !b.is_number()) {
    return Status(16611,
                  "$mod only supports numeric types, not " + TypeText(a) + " and " + TypeText(b));
  }
  if (bson::IsZero(b)) {
    bool decimal = bson::WiderNumber(a.type(), b.type()) == Type::kDecimal128;
    return Status(decimal ? 5733415 : 16610, "can't $mod by zero");
  }
  return bson::Mod(a, b);
}

namespace {

template <typename Combine>
Result<Value> EvalBits(const Call& call, EvalContext& eval, int64_t start, Combine combine) {
  int64_t bits = start;
  bool wide = false;
  bool null = false;
  for (size_t i = 0; i < call.size(); ++i) {
    ASSIGN_OR_RETURN(Value value, call.Get(i, eval));
    if (value.nullish()) {
      null = true;
      continue;
    }
    if (value.type() != Type::kInt32 && value.type() != Type::kInt64) {
      return Status(kTypeMismatch, std::string(call.name()) +
                                       " only supports int and long operands, not " +
                                       TypeText(value));
    }
    wide = wide || value.type() == Type::kInt64;
    bits = combine(bits, value.AsInt64());
  }
  if (null) {
    return Value::Null();
  }
  return wide ? Value(bits) : Value(static_cast<int32_t>(bits));
}

}  // namespace

Result<Value> EvalBitAnd(const Call& call, EvalContext& eval) {
  return EvalBits(call, eval, -1, [](int64_t a, int64_t b) { return a & b; });
}

Result<Value> EvalBitOr(const Call& call, EvalContext& eval) {
  return EvalBits(call, eval, 0, [](int64_t a, int64_t b) { return a | b; });
}

Result<Value> EvalBitXor(const Call& call, EvalContext& eval) {
  return EvalBits(call, eval, 0, [](int64_t a, int64_t b) { return a ^ b; });
}

Result<Value> EvalBitNot(const Call& call, EvalContext& eval) {
  ASSIGN_OR_RETURN(Value value, call.Get(0, eval));
  if (value.nullish()) {
    return Value::Null();
  }
  if (value.type() == Type::kInt32) {
    return Value(~value.AsInt32());
  }
  if (value.type() == Type::kInt64) {
    return Value(~value.AsInt64());
  }
  return Status(value.is_number() ? kTypeMismatch : 28765,
                "$bitNot only supports int and long, not: " + TypeText(value));
}

}  // namespace quire::expr::agg
