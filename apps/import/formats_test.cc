// SPDX-License-Identifier: Apache-2.0
#include "import/formats.h"

#include <gtest/gtest.h>

#include "export/row_writer.h"

namespace quire::apps {
namespace {

std::string Parsed(const char* format, std::string_view header, std::string_view record,
                   const RecordParser::Options& options = {}) {
  auto parser = RecordParser::Make(FindFormat(format), options);
  if (!parser.ok()) {
    return parser.status().message();
  }
  if (parser->wants_header()) {
    Status taken = parser->TakeHeader(header);
    if (!taken.ok()) {
      return taken.message();
    }
  }
  auto document = parser->Parse(record);
  return document.ok() ? bson::ToJson(document->view()) : document.status().message();
}

TEST(Formats, AreTold) {
  const struct {
    const char* path;
    const char* format;
  } kRows[] = {{"a.json", "json"}, {"/x/b.ndjson", "json"},    {"c.csv", "csv"},
               {"d.tab", "tsv"},   {"access_log.1", "apache"}, {"/var/log/access.log", "apache"}};
  for (const auto& row : kRows) {
    ASSERT_NE(GuessFormat(row.path), nullptr) << row.path;
    EXPECT_EQ(GuessFormat(row.path)->name, row.format) << row.path;
  }
  EXPECT_EQ(GuessFormat("/a.csv/data"), nullptr);
  EXPECT_EQ(FindFormat("xml"), nullptr);
  EXPECT_EQ(AllFormats().size(), 5u);
}

TEST(Formats, RecordsBecomeDocuments) {
  const struct {
    const char* format;
    const char* header;
    const char* record;
    const char* json;
  } kRows[] = {
      {"json", "", R"({"a": {"$numberLong": "5"}})", R"({"a":5})"},
      {"csv", "a,b.c", R"(1,"x, ""y""")", R"({"a":1,"b":{"c":"x, \"y\""}})"},
      {"csv", "a", "1,2", "BadColumnCount: 2, expected 1"},
      {"csv", "a,a", "1,2", "column 'a' and another one exclude each other"},
      {"tsv", "a\tb", "\"x\t01", R"({"a":"\"x","b":"01"})"},
      {"tsv", "a", R"(one\ttwo\nthree\\n\x)", R"({"a":"one\ttwo\nthree\\n\\x"})"},
      {"tsv", "a", R"(\)", R"({"a":"\\"})"},
  };
  for (const auto& row : kRows) {
    EXPECT_EQ(Parsed(row.format, row.header, row.record), row.json);
  }
  EXPECT_EQ(Parsed("csv", "", "1,2", {.fields = "a,b"}), R"({"a":1,"b":2})");
  EXPECT_EQ(Parsed("csv", "a,b", ",2", {.fields = "", .ignore_blanks = true}), R"({"b":2})");
  EXPECT_NE(Parsed("json", "", "{}", {.fields = "a"}).find("for csv and tsv"), std::string::npos);
}

// What export writes into a cell comes back, whatever is in it.
TEST(Formats, CellsOfTextComeBack) {
  const std::string texts[] = {
      "",    "plain", "tab\there",     "two\nlines", "cr\r\nlf", "back\\slash",
      "\\t", "\\\\n", "\"quoted\", c", "end\\"};
  for (const std::string& text : texts) {
    bson::Builder out;
    out.Append("a", "x").Append("s", text).Append("z", "y");
    const bson::Document document = out.Finish();
    for (auto [format, name] :
         {std::pair(RowFormat::kCsv, "csv"), std::pair(RowFormat::kTsv, "tsv")}) {
      std::string row;
      RowWriter(format, {"a", "s", "z"}).Append(document.view(), &row);
      ASSERT_TRUE(row.ends_with('\n'));
      row.pop_back();
      EXPECT_EQ(Parsed(name, format == RowFormat::kCsv ? "a,s,z" : "a\ts\tz", row),
                bson::ToJson(document.view()));
    }
  }
}

}  // namespace
}  // namespace quire::apps
