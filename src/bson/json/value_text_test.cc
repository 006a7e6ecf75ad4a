// SPDX-License-Identifier: Apache-2.0
#include "bson/json/value_text.h"

#include <gtest/gtest.h>

#include <limits>

namespace quire::bson {
namespace {

TEST(ValueText, IsThatOfMessages) {
  EXPECT_EQ(ValueText(Value(5.0)), "5.0");
  EXPECT_EQ(ValueText(Value(std::numeric_limits<double>::infinity())), "inf.0");
  EXPECT_EQ(ValueText(Value(int64_t{5})), "5");
  EXPECT_EQ(ValueText(Value("x")), "\"x\"");
  EXPECT_EQ(ValueText(Value(Date{7})), "new Date(7)");
  EXPECT_EQ(ValueText(Value(Timestamp{1, 2})), "Timestamp(1, 2)");
  Document inner = Builder().Append("x", 1).Append("y", "z").Finish();
  EXPECT_EQ(ValueText(Value(inner.view())), "{ x: 1, y: \"z\" }");
  EXPECT_EQ(ValueText(Value::Array(View())), "[]");
  const std::string longest(159, 'x');
  EXPECT_EQ(ValueText(Value(longest), Lengths::kShortened).size(), 161U);
  const std::string too_long(160, 'x');
  EXPECT_EQ(ValueText(Value(too_long), Lengths::kShortened),
            "\"" + std::string(150, 'x') + "...\"");
  EXPECT_EQ(ValueText(Value(too_long)).size(), 162U);
}

}  // namespace
}  // namespace quire::bson
