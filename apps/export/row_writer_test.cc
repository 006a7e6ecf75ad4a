// SPDX-License-Identifier: Apache-2.0
#include "export/row_writer.h"

#include <gtest/gtest.h>

namespace quire::apps {
namespace {

std::string Row(RowFormat format, const std::vector<std::string>& fields, const char* json) {
  const bson::Document document = *bson::Document::FromJson(json);
  std::string out;
  RowWriter(format, fields).Append(document.view(), &out);
  return out;
}

TEST(RowWriter, CellsOfEveryType) {
  const struct {
    const char* value;
    const char* cell;
  } kRows[] = {
      {R"("text")", "text"},
      {"null", ""},
      {R"({"$undefined": true})", ""},
      {R"({"$numberInt": "5"})", "5"},
      {R"({"$numberDouble": "2.0"})", "2.0"},
      {R"({"$numberDouble": "NaN"})", "NaN"},
      {R"({"$numberDecimal": "1.10"})", "1.10"},
      {"true", "true"},
      {R"({"$oid": "5f0000000000000000000001"})", "5f0000000000000000000001"},
      {R"({"$date": "2020-01-01T00:00:00Z"})", "2020-01-01T00:00:00Z"},
      {R"({"$date": {"$numberLong": "9223372036854775807"}})", "9223372036854775807"},
      {R"({"x": 1})", R"({"x":1})"},
      {"[1, 2]", "[1,2]"},
  };
  for (const auto& row : kRows) {
    const std::string json = std::string(R"({"a": )") + row.value + "}";
    EXPECT_EQ(Row(RowFormat::kTsv, {"a"}, json.c_str()), std::string(row.cell) + "\n");
  }
}

TEST(RowWriter, PathsReachIntoDocumentsAndArrays) {
  EXPECT_EQ(Row(RowFormat::kCsv, {"a.b", "c.1", "c.0.d", "none", "a.b.c"},
                R"({"a": {"b": 1}, "c": [{"d": 2}, 3]})"),
            "1,3,2,,\n");
}

TEST(RowWriter, SeparatorsInCells) {
  EXPECT_EQ(Row(RowFormat::kCsv, {"a", "b"}, R"({"a": "x,\"y\"", "b": "1\n2"})"),
            "\"x,\"\"y\"\"\",\"1\n2\"\n");
  EXPECT_EQ(Row(RowFormat::kTsv, {"a", "b"}, R"({"a": "x\ty\\", "b": "1\r\n2"})"),
            "x\\ty\\\\\t1\\r\\n2\n");
}

TEST(RowWriter, Json) {
  const char* const json = R"({"a": {"$numberLong": "5"}})";
  EXPECT_EQ(Row(RowFormat::kRelaxedJson, {}, json), "{\"a\":5}\n");
  EXPECT_EQ(Row(RowFormat::kCanonicalJson, {}, json), "{\"a\":{\"$numberLong\":\"5\"}}\n");
}

TEST(RowWriter, TheHeaderIsEscapedLikeCells) {
  std::string out;
  RowWriter(RowFormat::kCsv, {"a,b", "c"}).AppendHeader(&out);
  RowWriter(RowFormat::kTsv, {"a\tb", "c"}).AppendHeader(&out);
  EXPECT_EQ(out, "\"a,b\",c\na\\tb\tc\n");
}

}  // namespace
}  // namespace quire::apps
