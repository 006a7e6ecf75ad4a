// SPDX-License-Identifier: Apache-2.0
//
// Conversions between the four numeric types and arithmetic with MongoDB's promotion rules: a
// decimal makes the result a decimal, else a double makes it a double, else a long makes it a
// long; int32 results that do not fit become longs.
//
// Every function REQUIRES numbers (Value::is_number) unless it says otherwise.
#pragma once

#include <cstdint>
#include <optional>

#include "quire/bson.h"

namespace quire::bson {

// The type of a + b: the wider of the two in int < long < double < decimal.
Type WiderNumber(Type a, Type b);

bool IsNan(const Value& number);
bool IsInfinite(const Value& number);
inline bool IsFinite(const Value& number) { return !IsNan(number) && !IsInfinite(number); }
bool IsZero(const Value& number);
// Below zero (-0 and NaN are not).
bool IsNegative(const Value& number);
// Finite and without a fraction.
bool IsIntegral(const Value& number);

// The value when it is an integer in range, of whichever type; nothing else. Any value may be
// given: what is not a number gives nothing.
std::optional<int64_t> ExactInt64(const Value& value);
std::optional<int32_t> ExactInt32(const Value& value);
// Truncated towards zero; nothing for NaN and what is out of range. Any value may be given.
std::optional<int64_t> TruncatedInt64(const Value& value);
// Truncated, the range's end when beyond it, 0 for NaN: how MongoDB reads lenient options.
int64_t ClampedInt64(const Value& number);

// Nearest double.
double ToDouble(const Value& number);
// Doubles become decimals of 15 significant digits (see decimal::FromDouble).
Decimal128 ToDecimal(const Value& number);

// A long as int32 when it fits.
Value NarrowInt(int64_t i);

// $add, $subtract, $multiply of the aggregation: a long result that overflows becomes a double.
Value Add(const Value& a, const Value& b);
Value Subtract(const Value& a, const Value& b);
Value Multiply(const Value& a, const Value& b);
// $inc and $mul: nothing when a long result overflows.
std::optional<Value> CheckedAdd(const Value& a, const Value& b);
std::optional<Value> CheckedSubtract(const Value& a, const Value& b);
std::optional<Value> CheckedMultiply(const Value& a, const Value& b);
// $divide: a decimal or a double. REQUIRES: !IsZero(b).
Value Divide(const Value& a, const Value& b);
// $mod: truncated, the sign is a's. An int or long modulo a double that is an exact int32 stays
// integral. REQUIRES: !IsZero(b).
Value Mod(const Value& a, const Value& b);
// The number with its sign changed; the least int becomes a long, the least long a double.
Value Negate(const Value& number);

}  // namespace quire::bson
