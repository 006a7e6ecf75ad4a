// SPDX-License-Identifier: Apache-2.0
#include "expr/date/unit.h"

#include <gtest/gtest.h>

namespace quire::expr::date {
namespace {

// Midnights of 2021 in UTC.
constexpr int64_t kJanuary1 = 1609459200000;
constexpr int64_t kJanuary18 = 1610928000000;
constexpr int64_t kJanuary31 = 1612051200000;
constexpr int64_t kFebruary28 = 1614470400000;

TEST(DateUnit, AddsAndCounts) {
  TimeZone utc;
  EXPECT_EQ(Add(kJanuary31, Unit::kMonth, 1, utc), kFebruary28);
  EXPECT_EQ(Add(kJanuary31, Unit::kWeek, INT64_MAX, utc), std::nullopt);
  EXPECT_EQ(Add(kJanuary31, Unit::kYear, INT64_MAX, utc), std::nullopt);
  EXPECT_EQ(Diff(kJanuary31 - 1, kJanuary31, Unit::kDay, utc, 0), 1);
  EXPECT_EQ(Diff(kJanuary31, kJanuary1, Unit::kMonth, utc, 0), 0);
  EXPECT_EQ(Diff(kJanuary31 - 1, kJanuary31, Unit::kWeek, utc, 0), 1);
  EXPECT_EQ(Diff(kJanuary31 - 1, kJanuary31, Unit::kWeek, utc, 1), 0);
}

TEST(DateUnit, Truncates) {
  TimeZone utc;
  EXPECT_EQ(*Truncate(kJanuary31 + 5, Unit::kQuarter, 1, utc, 0), kJanuary1);
  EXPECT_EQ(*Truncate(kJanuary31, Unit::kWeek, 2, utc, 1), kJanuary18);
  EXPECT_EQ(*Truncate(kJanuary31 + 7199999, Unit::kHour, 2, utc, 0), kJanuary31);
  EXPECT_FALSE(Truncate(kJanuary31, Unit::kHour, INT64_MAX, utc, 0).ok());
}

}  // namespace
}  // namespace quire::expr::date
