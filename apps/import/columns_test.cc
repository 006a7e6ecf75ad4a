// SPDX-License-Identifier: Apache-2.0
#include "import/columns.h"

#include <gtest/gtest.h>

namespace quire::apps {
namespace {

std::string RowOf(const std::string& column, const std::string& cell) {
  auto columns = Columns::Make({column}, true, false);
  if (!columns.ok()) {
    return columns.status().message();
  }
  auto row = columns->Row({cell});
  return row.ok() ? bson::ToCanonicalJson(row->view()) : row.status().message();
}

TEST(Columns, CellsTakeTheirTypes) {
  const struct {
    const char* column;
    const char* cell;
    const char* json;
  } kRows[] = {
      {"a.auto()", "5", R"({"a":{"$numberInt":"5"}})"},
      {"a.auto()", "3000000000", R"({"a":{"$numberLong":"3000000000"}})"},
      {"a.auto()", "99999999999999999999", R"({"a":"99999999999999999999"})"},
      {"a.auto()", "-0", R"({"a":{"$numberInt":"0"}})"},
      {"a.auto()", "1.50", R"({"a":{"$numberDouble":"1.5"}})"},
      {"a.auto()", "2e3", R"({"a":{"$numberDouble":"2000.0"}})"},
      {"a.auto()", "007", R"({"a":"007"})"},
      {"a.auto()", ".5", R"({"a":".5"})"},
      {"a.auto()", "5.", R"({"a":"5."})"},
      {"a.auto()", "+1", R"({"a":"+1"})"},
      {"a.auto()", "inf", R"({"a":"inf"})"},
      {"a.auto()", "true", R"({"a":true})"},
      {"a.auto()", "True", R"({"a":"True"})"},
      {"a.auto()", "", R"({"a":""})"},
      {"a.string()", "5", R"({"a":"5"})"},
      {"a.int32()", "5", R"({"a":{"$numberInt":"5"}})"},
      {"a.int32()", "3000000000", "column a: not of type int32"},
      {"a.int64()", "5", R"({"a":{"$numberLong":"5"}})"},
      {"a.int64()", "", "{}"},
      {"a.double()", "5", R"({"a":{"$numberDouble":"5.0"}})"},
      {"a.double()", "x", "column a: not of type double"},
      {"a.decimal()", "1.10", R"({"a":{"$numberDecimal":"1.10"}})"},
      {"a.boolean()", "1", R"({"a":true})"},
      {"a.boolean()", "maybe", "column a: not of type boolean"},
      {"a.date()", "0", R"({"a":{"$date":{"$numberLong":"0"}}})"},
      {"a.date()", "1970-01-01T00:00:01Z", R"({"a":{"$date":{"$numberLong":"1000"}}})"},
      {"a.date()", "yesterday", "column a: not of type date"},
      {"a.b.int32()", "5", R"({"a":{"b":{"$numberInt":"5"}}})"},
      {"a.string()", "\xff", "column a is not UTF-8"},
  };
  for (const auto& row : kRows) {
    EXPECT_EQ(RowOf(row.column, row.cell), row.json) << row.column << " " << row.cell;
  }
}

TEST(Columns, NamesMakeTheDocument) {
  auto columns = Columns::Make({"a.x", "b", "a.y.z"}, false, false);
  ASSERT_TRUE(columns.ok());
  auto row = columns->Row({"1", "2", "3"});
  EXPECT_EQ(bson::ToJson(row->view()), R"({"a":{"x":1,"y":{"z":3}},"b":2})");
  EXPECT_FALSE(columns->Row({"1", "2"}).ok());
}

TEST(Columns, WrongNamesAreRefused) {
  const struct {
    std::vector<std::string> names;
    bool typed;
  } kRows[] = {{{""}, false},         {{"a", "a"}, false}, {{"a", "a.b"}, false},
               {{"a.b", "a"}, false}, {{"$a"}, false},     {{"a..b"}, false},
               {{"a"}, true},         {{"a.int()"}, true}, {{"\xff"}, false}};
  for (const auto& row : kRows) {
    EXPECT_FALSE(Columns::Make(row.names, row.typed, false).ok()) << row.names[0];
  }
}

}  // namespace
}  // namespace quire::apps
