// SPDX-License-Identifier: Apache-2.0
#include "quire/doc.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace quire {
namespace {

using bson::ToJson;
using bson::Type;

TEST(DocTest, FieldsStandInTheirOrder) {
  EXPECT_EQ(ToJson(Doc()), "{}");
  EXPECT_EQ(ToJson(Doc("b", 1, "a", Doc("$gt", 5, "$lt", Doc()))),
            R"({"b":1,"a":{"$gt":5,"$lt":{}}})");
}

TEST(DocTest, EveryIntegerHasAType) {
  const bson::Document doc =
      Doc("short", short{1}, "int", 2, "long", 3L, "long long", 4LL, "unsigned", 5U, "size",
          size_t{6}, "bool", true, "double", 7.5, "int64", int64_t{8});
  EXPECT_EQ(doc["short"].type(), Type::kInt32);
  EXPECT_EQ(doc["int"].type(), Type::kInt32);
  EXPECT_EQ(doc["bool"].type(), Type::kBool);
  EXPECT_EQ(doc["double"].type(), Type::kDouble);
  for (const char* wide : {"long", "long long", "unsigned", "size", "int64"}) {
    EXPECT_EQ(doc[wide].type(), Type::kInt64) << wide;
  }
}

TEST(DocTest, ValuesOfOtherTypes) {
  const std::string text = "owned";
  const bson::OwnedValue owned{bson::Value("kept")};
  const bson::Document doc =
      Doc("a", text, "b", std::string_view("view"), "c", nullptr, "d", bson::Value(), "e", owned,
          "f", bson::Date{0}, std::string("g"), Doc("x", 1).bytes().size());
  EXPECT_EQ(
      ToJson(doc),
      R"({"a":"owned","b":"view","c":null,"e":"kept","f":{"$date":"1970-01-01T00:00:00Z"},"g":12})");
}

TEST(DocTest, Arrays) {
  EXPECT_EQ(ToJson(Doc("a", List())), R"({"a":[]})");
  EXPECT_EQ(ToJson(Doc("a", List(1, "x", List(2), Doc("b", 3), nullptr))),
            R"({"a":[1,"x",[2],{"b":3},null]})");
  EXPECT_EQ(ToJson(Doc("a", ListOf(std::vector<std::string>{"x", "y"}), "b",
                       ListOf(std::vector<bool>{true, false}))),
            R"({"a":["x","y"],"b":[true,false]})");
}

TEST(DateTest, IsoTextAndBack) {
  struct Case {
    const char* text;
    int64_t millis;
  };
  for (const Case& c :
       {Case{"1970-01-01", 0}, Case{"1970-01-01T00:00:00Z", 0},
        Case{"2024-05-06T07:08:09.123Z", 1714979289123},
        Case{"2024-05-06T09:08+02:00", 1714979280000}, Case{"1969-12-31T23:59:59.999Z", -1}}) {
    auto date = bson::Date::FromIso(c.text);
    ASSERT_TRUE(date) << c.text;
    EXPECT_EQ(date->millis, c.millis) << c.text;
    EXPECT_EQ(bson::Date::FromIso(date->ToIso()), date) << date->ToIso();
  }
  for (const char* wrong :
       {"", "2024", "2024-13-01", "2024-02-30", "2024-05-06 07:08", "yesterday!"}) {
    EXPECT_FALSE(bson::Date::FromIso(wrong)) << wrong;
  }
  EXPECT_EQ(bson::Date{INT64_MAX}.ToIso(), "9223372036854775807");
}

TEST(DateTest, ChronoAndArithmetic) {
  using std::chrono::sys_days;
  const auto day = sys_days(std::chrono::year(2000) / 2 / 29);
  const bson::Date date = bson::Date::From(day);
  EXPECT_EQ(date.ToIso(), "2000-02-29T00:00:00Z");
  EXPECT_EQ(date.time(), day);
  EXPECT_EQ((date + std::chrono::hours(24)).ToIso(), "2000-03-01T00:00:00Z");
  EXPECT_EQ((date - std::chrono::milliseconds(1)).ToIso(), "2000-02-28T23:59:59.999Z");
  EXPECT_EQ(date + std::chrono::hours(1) - date, std::chrono::hours(1));
  using Micros = std::chrono::microseconds;
  EXPECT_EQ(bson::Date::From(std::chrono::sys_time<Micros>(Micros(-1))).millis, -1);
  EXPECT_GT(bson::Date::Now(), date);
}

}  // namespace
}  // namespace quire
