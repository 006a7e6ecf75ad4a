// SPDX-License-Identifier: Apache-2.0
#include "bson/decimal.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace quire::bson::decimal {
namespace {

Decimal128 D(const char* text) {
  std::optional<Decimal128> d = FromString(text);
  EXPECT_TRUE(d) << text;
  return d.value_or(kNan);
}

TEST(Decimal, ReadsAndWritesTheSpecificationsText) {
  struct Row {
    const char* text;
    const char* canonical;
  };
  for (const Row& row : std::initializer_list<Row>{
           {"0", "0"},
           {"-0", "-0"},
           {"0.000", "0.000"},
           {"0E+3", "0E+3"},
           {"1", "1"},
           {"1.00", "1.00"},
           {".5", "0.5"},
           {"5.", "5"},
           {"+12.34e2", "1234"},
           {"1E3", "1E+3"},
           {"1e-7", "1E-7"},
           {"0.000001", "0.000001"},
           {"0.0000001", "1E-7"},
           {"123456789012345678901234567890.1234", "123456789012345678901234567890.1234"},
           {"12345678901234567890123456789012345", "1.234567890123456789012345678901234E+34"},
           {"12345678901234567890123456789012355", "1.234567890123456789012345678901236E+34"},
           {"1E6144", "1.000000000000000000000000000000000E+6144"},
           {"1E-6176", "1E-6176"},
           {"NaN", "NaN"},
           {"nan", "NaN"},
           {"inf", "Infinity"},
           {"-INFINITY", "-Infinity"},
           {"1E7000", "Infinity"},
           {"1E99999999999999999999", "Infinity"},
           {"1E-99999999999999999999", "0E-6176"},
       }) {
    EXPECT_EQ(ToString(D(row.text)), row.canonical) << row.text;
  }
}

TEST(Decimal, NotANumberHasASign) {
  EXPECT_FALSE(IsNegative(D("NaN")));
  EXPECT_TRUE(IsNegative(D("-nan")));
  EXPECT_TRUE(IsNan(D("-nan")));
  EXPECT_EQ(ToString(D("-NaN")), "NaN");
}

TEST(Decimal, RoundsLongTextsByAllTheirDigits) {
  std::string half = "1" + std::string(33, '0') + "5";
  EXPECT_EQ(ToString(*FromString(half)), "1.000000000000000000000000000000000E+34");
  std::string above = half + std::string(500, '0') + "1";
  EXPECT_EQ(ToString(*FromString(above + "E-501")), "1.000000000000000000000000000000001E+34");
  std::string zeros = "0." + std::string(1000, '0') + "12";
  EXPECT_EQ(ToString(*FromString(zeros)), "1.2E-1001");
  Flags flags;
  ASSERT_TRUE(FromString("1E7000", &flags));
  EXPECT_TRUE(flags.overflow);
}

TEST(Decimal, RefusesWhatIsNoNumber) {
  for (const char* text : {"", "+", ".", "e5", "1e", "1e+", "1.2.3", "1 ", " 1", "0x10", "1e5.5",
                           "in", "nanx", "--1", "E"}) {
    EXPECT_FALSE(FromString(text)) << text;
  }
}

TEST(Decimal, ConvertsDoublesTo15Digits) {
  struct Row {
    double value;
    const char* text;
  };
  for (const Row& row : std::initializer_list<Row>{
           {1.5, "1.50000000000000"},
           {0.1, "0.100000000000000"},
           {-0.1, "-0.100000000000000"},
           {1.0 / 3, "0.333333333333333"},
           {123456789.125, "123456789.125000"},
           {1e300, "1.00000000000000E+300"},
           {9.9999999999999999, "10.0000000000000"},
           {999999999999999.9, "1.00000000000000E+15"},
           {5e-324, "4.94065645841247E-324"},
           {0.0, "0"},
           {-0.0, "-0"},
           {std::numeric_limits<double>::infinity(), "Infinity"},
           {std::nan(""), "NaN"},
       }) {
    EXPECT_EQ(ToString(FromDouble(row.value)), row.text);
  }
  EXPECT_EQ(ToString(FromDoubleExact(0.1)), "0.1000000000000000055511151231257827");
  for (double d : {1.5, 1e-300, 3.14159, 123456789012345680.0}) {
    EXPECT_EQ(ToDouble(FromDoubleExact(d)), d);
  }
}

TEST(Decimal, ConvertsIntegers) {
  int64_t least = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(ToString(FromInt64(least)), "-9223372036854775808");
  EXPECT_EQ(ToInt64(FromInt64(least)), least);
  EXPECT_EQ(ToInt64(D("-2.9")), -2);
  EXPECT_EQ(ToInt64(D("2.5"), Rounding::kNearestEven), 2);
  EXPECT_EQ(ToInt64(D("9223372036854775807.9")), std::numeric_limits<int64_t>::max());
  EXPECT_FALSE(ToInt64(D("9223372036854775808")));
  EXPECT_FALSE(ToInt64(kNan));
  EXPECT_FALSE(ToInt64(kInfinity));
  bool inexact = false;
  EXPECT_EQ(ToInt64(D("7.00"), Rounding::kToZero, &inexact), 7);
  EXPECT_FALSE(inexact);
  EXPECT_EQ(ToInt64(D("7.01"), Rounding::kToZero, &inexact), 7);
  EXPECT_TRUE(inexact);
}

TEST(Decimal, Calculates) {
  EXPECT_EQ(ToString(Add(D("1.10"), D("2.2"))), "3.30");
  EXPECT_EQ(ToString(Subtract(D("1"), D("0.9"))), "0.1");
  EXPECT_EQ(ToString(Multiply(D("1.5"), D("2.0"))), "3.00");
  EXPECT_EQ(ToString(Divide(D("1"), D("3"))), "0.3333333333333333333333333333333333");
  EXPECT_EQ(ToString(Divide(D("1"), D("0"))), "Infinity");
  EXPECT_EQ(ToString(Mod(D("-7.5"), D("2"))), "-1.5");
  EXPECT_EQ(ToString(Sqrt(D("2"))), "1.414213562373095048801688724209698");
  EXPECT_EQ(ToString(Sqrt(D("-1"))), "NaN");
  EXPECT_EQ(ToString(Exp(D("1"))), "2.718281828459045235360287471352662");
  EXPECT_EQ(ToString(Ln(D("10"))), "2.302585092994045684017991454684364");
  EXPECT_EQ(ToDouble(Log10(D("1000"))), 3);
  EXPECT_EQ(ToDouble(Pow(D("2"), D("10"))), 1024);
  EXPECT_EQ(ToString(Negate(D("-0.0"))), "0.0");
  EXPECT_EQ(ToString(Abs(D("-3"))), "3");
}

TEST(Decimal, Trigonometry) {
  EXPECT_NEAR(ToDouble(Sin(D("1"))), std::sin(1), 1e-15);
  EXPECT_NEAR(ToDouble(Cos(D("1"))), std::cos(1), 1e-15);
  EXPECT_NEAR(ToDouble(Tan(D("1"))), std::tan(1), 1e-15);
  EXPECT_NEAR(ToDouble(Asin(D("0.5"))), std::asin(0.5), 1e-15);
  EXPECT_NEAR(ToDouble(Acos(D("0.5"))), std::acos(0.5), 1e-15);
  EXPECT_NEAR(ToDouble(Atan(D("2"))), std::atan(2), 1e-15);
  EXPECT_NEAR(ToDouble(Atan2(D("1"), D("-2"))), std::atan2(1, -2), 1e-15);
  EXPECT_NEAR(ToDouble(Sinh(D("1"))), std::sinh(1), 1e-15);
  EXPECT_NEAR(ToDouble(Cosh(D("1"))), std::cosh(1), 1e-15);
  EXPECT_NEAR(ToDouble(Tanh(D("1"))), std::tanh(1), 1e-15);
  EXPECT_NEAR(ToDouble(Asinh(D("1"))), std::asinh(1), 1e-15);
  EXPECT_NEAR(ToDouble(Acosh(D("2"))), std::acosh(2), 1e-15);
  EXPECT_NEAR(ToDouble(Atanh(D("0.5"))), std::atanh(0.5), 1e-15);
}

TEST(Decimal, Rounds) {
  EXPECT_EQ(ToString(RoundToPlace(D("1.2345"), 2, Rounding::kNearestEven)), "1.23");
  EXPECT_EQ(ToString(RoundToPlace(D("2.5"), 0, Rounding::kNearestEven)), "2");
  EXPECT_EQ(ToString(RoundToPlace(D("1250"), -2, Rounding::kNearestEven)), "1.2E+3");
  EXPECT_EQ(ToString(RoundToPlace(D("1.29"), 1, Rounding::kToZero)), "1.2");
  EXPECT_EQ(ToString(RoundToPlace(D("1E30"), 20, Rounding::kToZero)), "1E+30");
  EXPECT_EQ(ToString(RoundToPlace(D("NaN"), 2, Rounding::kToZero)), "NaN");
  EXPECT_EQ(ToString(RoundToIntegral(D("-1.5"), Rounding::kDown)), "-2");
  EXPECT_EQ(ToString(RoundToIntegral(D("1.2"), Rounding::kUp)), "2");
  EXPECT_EQ(ToString(Trunc(D("-1.9"))), "-1");
}

}  // namespace
}  // namespace quire::bson::decimal
