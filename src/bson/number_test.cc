// SPDX-License-Identifier: Apache-2.0
#include "bson/number.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "bson/decimal.h"

namespace quire::bson {
namespace {

constexpr int32_t kMaxInt = std::numeric_limits<int32_t>::max();
constexpr int32_t kMinInt = std::numeric_limits<int32_t>::min();
constexpr int64_t kMaxLong = std::numeric_limits<int64_t>::max();
constexpr int64_t kMinLong = std::numeric_limits<int64_t>::min();

Value Dec(const char* text) { return Value(*decimal::FromString(text)); }
Value Long(int64_t i) { return Value(i); }

struct Row {
  Value a, b, result;
};

TEST(Number, AddPromotes) {
  for (const Row& row : std::initializer_list<Row>{
           {Value(1), Value(2), Value(3)},
           {Value(kMaxInt), Value(1), Long(int64_t{kMaxInt} + 1)},
           {Value(1), Long(2), Long(3)},
           {Long(kMaxLong), Value(1), Value(9223372036854775808.0)},
           {Value(1), Value(0.5), Value(1.5)},
           {Value(1), Dec("0.5"), Dec("1.5")},
           {Value(0.5), Dec("1"), Dec("1.500000000000000")},
       }) {
    EXPECT_TRUE(Add(row.a, row.b).BinaryEquals(row.result));
  }
}

TEST(Number, MultiplyAndSubtractPromote) {
  EXPECT_TRUE(Multiply(Value(kMaxInt), Value(2)).BinaryEquals(Long(int64_t{kMaxInt} * 2)));
  EXPECT_TRUE(Multiply(Long(kMaxLong), Long(2)).BinaryEquals(Value(18446744073709551616.0)));
  EXPECT_TRUE(Subtract(Value(kMinInt), Value(1)).BinaryEquals(Long(int64_t{kMinInt} - 1)));
  EXPECT_TRUE(Subtract(Long(kMinLong), Value(1)).BinaryEquals(Value(-9223372036854775808.0)));
}

TEST(Number, CheckedRefusesLongOverflow) {
  EXPECT_FALSE(CheckedAdd(Long(kMaxLong), Value(1)));
  EXPECT_FALSE(CheckedMultiply(Long(kMaxLong), Value(2)));
  EXPECT_FALSE(CheckedSubtract(Long(kMinLong), Value(1)));
  EXPECT_TRUE(CheckedAdd(Value(kMaxInt), Value(1))->BinaryEquals(Long(int64_t{kMaxInt} + 1)));
}

TEST(Number, DivideAndMod) {
  EXPECT_TRUE(Divide(Value(4), Value(2)).BinaryEquals(Value(2.0)));
  EXPECT_TRUE(Divide(Value(1), Dec("4")).BinaryEquals(Dec("0.25")));
  EXPECT_TRUE(Mod(Value(-7), Value(3)).BinaryEquals(Value(-1)));
  EXPECT_TRUE(Mod(Value(7), Long(3)).BinaryEquals(Long(1)));
  EXPECT_TRUE(Mod(Value(7), Value(3.0)).BinaryEquals(Value(1.0)));
  EXPECT_TRUE(Mod(Value(7), Value(2.5)).BinaryEquals(Value(2.0)));
  EXPECT_TRUE(Mod(Value(7.5), Value(2)).BinaryEquals(Value(1.5)));
  EXPECT_TRUE(Mod(Value(7), Dec("2.5")).BinaryEquals(Dec("2.0")));
  EXPECT_TRUE(Mod(Long(kMinLong), Value(-1)).BinaryEquals(Long(0)));
}

TEST(Number, Negate) {
  EXPECT_TRUE(Negate(Value(kMinInt)).BinaryEquals(Long(-int64_t{kMinInt})));
  EXPECT_TRUE(Negate(Long(kMinLong)).BinaryEquals(Value(9223372036854775808.0)));
  EXPECT_TRUE(Negate(Value(1.5)).BinaryEquals(Value(-1.5)));
}

TEST(Number, ExactIntegers) {
  EXPECT_EQ(ExactInt64(Value(3)), 3);
  EXPECT_EQ(ExactInt64(Value(3.0)), 3);
  EXPECT_EQ(ExactInt64(Dec("3.00")), 3);
  EXPECT_EQ(ExactInt64(Value(-9223372036854775808.0)), kMinLong);
  EXPECT_FALSE(ExactInt64(Value(9223372036854775808.0)));
  EXPECT_FALSE(ExactInt64(Value(3.5)));
  EXPECT_FALSE(ExactInt64(Value(std::nan(""))));
  EXPECT_FALSE(ExactInt64(Dec("1E+100")));
  EXPECT_FALSE(ExactInt64(Value("3")));
  EXPECT_FALSE(ExactInt32(Long(int64_t{1} << 31)));
  EXPECT_EQ(ExactInt32(Value(-2147483648.0)), kMinInt);
  EXPECT_EQ(TruncatedInt64(Value(-3.9)), -3);
  EXPECT_EQ(ClampedInt64(Value(1e300)), kMaxLong);
  EXPECT_EQ(ClampedInt64(Dec("-Infinity")), kMinLong);
  EXPECT_EQ(ClampedInt64(Value(std::nan(""))), 0);
}

TEST(Number, Classifies) {
  EXPECT_TRUE(IsNan(Dec("NaN")));
  EXPECT_TRUE(IsInfinite(Value(-HUGE_VAL)));
  EXPECT_TRUE(IsZero(Dec("-0.00")));
  EXPECT_FALSE(IsNegative(Value(-0.0)));
  EXPECT_FALSE(IsNegative(Dec("-0")));
  EXPECT_TRUE(IsNegative(Dec("-Infinity")));
  EXPECT_TRUE(IsIntegral(Value(1e300)));
  EXPECT_FALSE(IsIntegral(Dec("1.5")));
}

}  // namespace
}  // namespace quire::bson
