// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <iterator>
#include <random>
#include <string>
#include <string_view>

#include "expr/date/calendar.h"
#include "expr/date/format.h"
#include "expr/date/recent_texts.h"
#include "expr/date/time_zone.h"

namespace quire::expr::date {
namespace {

TEST(Date, CalendarRoundTrips) {
  for (int64_t days : {-719468L, -1L, 0L, 59L, 60L, 10957L, 11016L, 2932896L}) {
    Fields f = SplitMillis(days * kDay + kHour);
    EXPECT_EQ(JoinMillis(f), days * kDay + kHour);
  }
  EXPECT_EQ(DayOfWeek(0), 4);  // 1970-01-01 was a Thursday
  IsoWeekDate week = IsoWeek(DaysFromCivil(2021, 1, 3));
  EXPECT_EQ(week.year, 2020);
  EXPECT_EQ(week.week, 53);
  EXPECT_EQ(week.day, 7);
  EXPECT_EQ(DaysFromIsoWeek(2020, 53, 7), DaysFromCivil(2021, 1, 3));
  EXPECT_EQ(DaysFromCivil(2020, 14, 1), DaysFromCivil(2021, 2, 1));
}

TEST(Date, ZonesAndTheirChanges) {
  EXPECT_EQ(TimeZone::Parse("Mars/Phobos").status().code(), 40485);
  EXPECT_EQ(TimeZone::Parse("+5:30").status().code(), 40485);
  EXPECT_EQ(TimeZone::Parse("-0930")->OffsetAt(0), -(9 * kHour + 30 * kMinute));
  TimeZone ny = *TimeZone::Parse("America/New_York");
  int64_t gap = DaysFromCivil(2020, 3, 8) * kDay + 2 * kHour + 30 * kMinute;
  EXPECT_EQ(ny.ToUtc(gap), 1583652600000);
  int64_t twice = DaysFromCivil(2020, 11, 1) * kDay + kHour + 30 * kMinute;
  EXPECT_EQ(ny.ToUtc(twice), 1604212200000);
}

TEST(Date, ReadsUsualNotations) {
  struct Case {
    const char* text;
    int64_t millis;
  };
  static const Case kCases[] = {
      {"2017-07-04", 1499126400000},
      {"2017-07-04T11:56:02Z", 1499169362000},
      {"2017-07-04T11:56:02.1", 1499169362100},
      {"2017-07-04 11:56:02-0330", 1499181962000},
      {"20170704T115602Z", 1499169362000},
      {"July 4, 2017", 1499126400000},
      {"4 Jul 2017 11:56 AM", 1499169360000},
      {"07/04/2017", 1499126400000},
      {"@1499169362", 1499169362000},
      {"2017W272", 1499126400000},
      {"2017-W27-2", 1499126400000},
      {"2017-Jul-04", 1499126400000},
      {"Jul-04-2017", 1499126400000},
      {"04-Jul-2017", 1499126400000},
      {"2017-020", 1484870400000},
      {"2017.020", 1484870400000},
      {"2017020T10:00", 1484906400000},
      {"2017-07-04 115602", 1499169362000},
      {"14. May 2017", 1494720000000},
      {"4 Jul 2017 18:50 (PDT)", 1499219400000},
      {"2017 May", 1493596800000},
      {"20170704T11.56.02", 1499169362000},
      {"04-July-2017", 1499126400000},
      {"Mon 27 February 2017", 1488153600000},
      {"Mon, 28 February 2017 10:00 UTC", 1488794400000},
      {"10:00 tue 4 Jul 2017", 1499126400000},
      {"Sunday 4 Jul 1950", -614822400000},
      {"-0001-01-01T00:00:00Z", -62198755200000},
      {"+2016-12-07 08:24", 1481099040000},
      {"+12017-01-02", 317052835200000},
      {"17-02-08", 1486512000000},
      {"70-2-8", 3283200000},
      {"02/08/17", 1486512000000},
      {"2/8/123", -58282416000000},
      {"31.12.70", 31449600000},
      {"1.2.2017 10.30", 1485945000000},
      {"1.2.2017T10.30.15.5", 1485945015500},
      {"2017-07-04T10:00:00 IST", 1499155200000},
      {"2017-07-04T10:00:00 B", 1499155200000},
      {"2017-07-04T10:00:00 y", 1499205600000},
      {"4 Jul 2017 11:56 a.m.", 1499169360000},
      {"Tue, 4 Jul 2017 11:56 pm UTC", 1499212560000},
  };
  for (const Case& c : kCases) {
    auto parsed = ParseFree(c.text, nullptr);
    ASSERT_TRUE(parsed.ok()) << c.text << ": " << parsed.status().ToString();
    EXPECT_EQ(*parsed, c.millis) << c.text;
  }
  for (const char* bad : {"",
                          "notadate",
                          "2017-13-01",
                          "2017-02-30",
                          "2017-07-04T24:00:00",
                          "11:30",
                          "July 4",
                          "2017-07-04T11:56:02Z Z",
                          "2017-185",
                          "2017.185",
                          "2017185",
                          "2017-000",
                          "1.2.17",
                          "2017-07-04 10:00:00,5",
                          "+2017-1-02",
                          "2017-07-04T10:00:00 J",
                          "11:56pm2017-07-04",
                          "2017 May 14",
                          "June-29-2017",
                          "2017-07-04T11:56 PM",
                          "17-02-081",
                          "sunda 4 Jul 2017"}) {
    EXPECT_FALSE(ParseFree(bad, nullptr).ok()) << bad;
  }
}

// Texts kept from row to row are those that would be made anew.
TEST(Date, RecentTextsAreThoseOfFormat) {
  std::mt19937_64 random(3);
  const TimeZone zones[] = {TimeZone(), TimeZone::FromOffset(-5 * kHour - 30 * kMinute),
                            *TimeZone::Parse("America/New_York")};
  const char* formats[] = {"%Y-%m-%d", "%H:00 %z", "%H:%M", "%S", "%L", "%G-%V", "%j", "", "%%H"};
  RecentTexts texts;
  // Around the changes of New York's clocks in 2020, before 1970, and where years end.
  for (int64_t start : {1583650800000L, 1604210400000L, -3600000L, 253402293599000L}) {
    int64_t at = start;
    for (int i = 0; i < 2000; ++i) {
      at += static_cast<int64_t>(random() % (i % 50 == 0 ? 7'000'000 : 20'000)) -
            (i % 7 == 0 ? 30'000 : 0);
      const char* format = formats[random() % std::size(formats)];
      const TimeZone& zone = zones[random() % std::size(zones)];
      ASSERT_TRUE(texts.Check(format).ok());
      const Result<std::string> made = Format(format, at, zone);
      const Result<std::string_view> kept = texts.Format(format, at, zone);
      ASSERT_EQ(kept.ok(), made.ok()) << at;
      if (made.ok()) {
        ASSERT_EQ(*kept, *made) << format << " " << at;
      } else {
        ASSERT_EQ(kept.status().code(), made.status().code());
      }
    }
  }
  EXPECT_EQ(texts.Check("%q").code(), 18536);
  EXPECT_EQ(texts.Check("%").code(), 18535);
}

TEST(Date, FormatsAndReadsFormats) {
  TimeZone utc;
  EXPECT_EQ(*Format("%Y-%m-%d %H:%M:%S.%L %j %u %V %G %U %w %%", 1609632000123, utc),
            "2021-01-03 00:00:00.123 003 7 53 2020 01 1 %");
  EXPECT_EQ(CheckFormat("%Q").code(), 18536);
  EXPECT_EQ(CheckFormat("%").code(), 18535);
  EXPECT_EQ(Format("%Y", INT64_MAX, utc).status().code(), 18537);
  EXPECT_EQ(*ParseWithFormat("03/01/2021", "%d/%m/%Y", nullptr), 1609632000000);
  EXPECT_FALSE(ParseWithFormat("03/01/2021 ", "%d/%m/%Y", nullptr).ok());
}

}  // namespace
}  // namespace quire::expr::date
