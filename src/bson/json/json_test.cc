// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "base/error_codes.h"
#include "bson/decimal.h"
#include "bson/validate.h"
#include "quire/bson.h"

namespace quire::bson {
namespace {

struct Row {
  const char* canonical;
  const char* relaxed;
};

// The text form of one value, both ways: canonical text reads and writes back as itself, and the
// relaxed text is what it becomes.
TEST(Json, RoundTripsEveryType) {
  for (const Row& row : std::initializer_list<Row>{
           {R"({"$numberInt":"-2147483648"})", "-2147483648"},
           {R"({"$numberLong":"5"})", "5"},
           {R"({"$numberLong":"-9223372036854775808"})", "-9223372036854775808"},
           {R"({"$numberDouble":"1.0"})", "1.0"},
           {R"({"$numberDouble":"-0.0"})", "-0.0"},
           {R"({"$numberDouble":"0.1"})", "0.1"},
           {R"({"$numberDouble":"1e+300"})", "1e+300"},
           {R"({"$numberDouble":"1.2345678901234568e+17"})", "1.2345678901234568e+17"},
           {R"({"$numberDouble":"100000.0"})", "100000.0"},
           {R"({"$numberDouble":"5e-324"})", "5e-324"},
           {R"({"$numberDouble":"NaN"})", R"({"$numberDouble":"NaN"})"},
           {R"({"$numberDouble":"Infinity"})", R"({"$numberDouble":"Infinity"})"},
           {R"({"$numberDouble":"-Infinity"})", R"({"$numberDouble":"-Infinity"})"},
           {R"({"$numberDecimal":"1.00"})", R"({"$numberDecimal":"1.00"})"},
           {R"({"$numberDecimal":"-Infinity"})", R"({"$numberDecimal":"-Infinity"})"},
           {R"("text")", R"("text")"},
           {R"("\"\\\b\f\n\r\t\u0000\u001f/é😀")", R"("\"\\\b\f\n\r\t\u0000\u001f/é😀")"},
           {R"({"a":{"b":null}})", R"({"a":{"b":null}})"},
           {R"([true,[false,[]],{}])", R"([true,[false,[]],{}])"},
           {R"({"$binary":{"base64":"","subType":"00"}})",
            R"({"$binary":{"base64":"","subType":"00"}})"},
           {R"({"$binary":{"base64":"//8=","subType":"80"}})",
            R"({"$binary":{"base64":"//8=","subType":"80"}})"},
           {R"({"$undefined":true})", R"({"$undefined":true})"},
           {R"({"$oid":"56e1fc72e0c917e9c4714161"})", R"({"$oid":"56e1fc72e0c917e9c4714161"})"},
           {R"({"$date":{"$numberLong":"1356351330501"}})",
            R"({"$date":"2012-12-24T12:15:30.501Z"})"},
           {R"({"$date":{"$numberLong":"0"}})", R"({"$date":"1970-01-01T00:00:00Z"})"},
           {R"({"$date":{"$numberLong":"253402300799999"}})",
            R"({"$date":"9999-12-31T23:59:59.999Z"})"},
           {R"({"$date":{"$numberLong":"253402300800000"}})",
            R"({"$date":{"$numberLong":"253402300800000"}})"},
           {R"({"$date":{"$numberLong":"-1"}})", R"({"$date":{"$numberLong":"-1"}})"},
           {R"({"$date":{"$numberLong":"-9223372036854775808"}})",
            R"({"$date":{"$numberLong":"-9223372036854775808"}})"},
           {R"({"$regularExpression":{"pattern":"a\"b","options":"im"}})",
            R"({"$regularExpression":{"pattern":"a\"b","options":"im"}})"},
           {R"({"$dbPointer":{"$ref":"db.c","$id":{"$oid":"56e1fc72e0c917e9c4714161"}}})",
            R"({"$dbPointer":{"$ref":"db.c","$id":{"$oid":"56e1fc72e0c917e9c4714161"}}})"},
           {R"({"$code":"f"})", R"({"$code":"f"})"},
           {R"({"$code":"f","$scope":{"x":{"$numberInt":"1"}}})",
            R"({"$code":"f","$scope":{"x":1}})"},
           {R"({"$symbol":"s"})", R"({"$symbol":"s"})"},
           {R"({"$timestamp":{"t":4294967295,"i":1}})", R"({"$timestamp":{"t":4294967295,"i":1}})"},
           {R"({"$minKey":1})", R"({"$minKey":1})"},
           {R"({"$maxKey":1})", R"({"$maxKey":1})"},
           {R"({"$ref":"c","$id":{"$numberInt":"1"}})", R"({"$ref":"c","$id":1})"},
           {R"({"$gt":{"$numberInt":"1"}})", R"({"$gt":1})"},
           {R"({"$regex":"a","$options":"i"})", R"({"$regex":"a","$options":"i"})"},
       }) {
    std::string text = std::string("{\"v\":") + row.canonical + "}";
    Result<Document> doc = Document::FromJson(text);
    ASSERT_TRUE(doc.ok()) << text << doc.status().ToString();
    ASSERT_TRUE(Validate(doc->bytes()).ok());
    if (std::string_view(row.relaxed) != "1.2345678901234568e+17") {
      EXPECT_EQ(ToCanonicalJson(doc->view()), text);
    }
    std::string relaxed = std::string("{\"v\":") + row.relaxed + "}";
    EXPECT_EQ(ToJson(doc->view()), relaxed);
    EXPECT_EQ(ToJson((*doc)["v"]), row.relaxed);
    Result<Document> again = Document::FromJson(relaxed);
    ASSERT_TRUE(again.ok()) << relaxed;
    EXPECT_EQ(ToJson(again->view()), relaxed);
  }
}

TEST(Json, ReadsOtherForms) {
  for (const Row& row : std::initializer_list<Row>{
           {R"({"v":{"$binary":"//8=","$type":"80"}})",
            R"({"v":{"$binary":{"base64":"//8=","subType":"80"}}})"},
           {R"({"v":{"$binary":"//8","$type":"0"}})",
            R"({"v":{"$binary":{"base64":"//8=","subType":"00"}}})"},
           {R"({"v":{"$uuid":"c8edabc3-f738-4ca3-b68d-ab92a91478a3"}})",
            R"({"v":{"$binary":{"base64":"yO2rw/c4TKO2jauSqRR4ow==","subType":"04"}}})"},
           {R"({"v":{"$date":1356351330501}})", R"({"v":{"$date":"2012-12-24T12:15:30.501Z"}})"},
           {R"({"v":{"$date":"2012-12-24T13:15:30.5+01:00"}})",
            R"({"v":{"$date":"2012-12-24T12:15:30.500Z"}})"},
           {R"({"v":{"$date":"1969-12-31T23:59Z"}})",
            R"({"v":{"$date":{"$numberLong":"-60000"}}})"},
           {" { \"v\" : [ 1 , 2.5e0 ] } ", R"({"v":[1,2.5]})"},
           {R"({"v":2147483648})", R"({"v":2147483648})"},
           {R"({"v":9223372036854775808})", R"({"v":9.223372036854776e+18})"},
           {R"({"v":"\u00e9\ud83d\ude00\/"})", R"({"v":"é😀/"})"},
           {R"({"$and":[{"a":1}]})", R"({"$and":[{"a":1}]})"},
           {"{}", "{}"},
       }) {
    Result<Document> doc = Document::FromJson(row.canonical);
    ASSERT_TRUE(doc.ok()) << row.canonical << doc.status().ToString();
    EXPECT_EQ(ToJson(doc->view()), row.relaxed);
  }
}

TEST(Json, NumbersTakeTheSmallestType) {
  Result<Document> doc = Document::FromJson(R"({"a":1,"b":2147483648,"c":1.0,"d":1e2})");
  ASSERT_TRUE(doc.ok());
  EXPECT_EQ((*doc)["a"].type(), Type::kInt32);
  EXPECT_EQ((*doc)["b"].type(), Type::kInt64);
  EXPECT_EQ((*doc)["c"].type(), Type::kDouble);
  EXPECT_EQ((*doc)["d"].type(), Type::kDouble);
}

TEST(Json, RefusesMalformedText) {
  for (const char* text : {
           "",
           " ",
           "[]",
           "1",
           "{",
           "}",
           "{]",
           "{\"a\"}",
           "{\"a\":}",
           "{\"a\":1,}",
           "{\"a\":1}x",
           "{a:1}",
           "{\"a\":[1,]}",
           "{\"a\":[1}",
           "{\"a\":01}",
           "{\"a\":+1}",
           "{\"a\":.5}",
           "{\"a\":1.}",
           "{\"a\":1e}",
           "{\"a\":1e999}",
           "{\"a\":-}",
           "{\"a\":tru}",
           "{\"a\":NaN}",
           "{\"a\":\"x}",
           "{\"a\":\"\n\"}",
           "{\"a\":\"\\x\"}",
           "{\"a\":\"\\u12\"}",
           "{\"a\":\"\\ud800\"}",
           "{\"a\":\"\\ud800\\u0041\"}",
           "{\"a\":\"\\udc00\"}",
           "{\"a\":\"\xff\"}",
           "{\"a\":\"\xc0\x80\"}",
           "{\"a\\u0000b\":1}",
           R"({"a":{"$oid":"123"}})",
           R"({"a":{"$oid":"56e1fc72e0c917e9c471416g"}})",
           R"({"a":{"$oid":"56e1fc72e0c917e9c4714161","b":1}})",
           R"({"a":{"$numberInt":1}})",
           R"({"a":{"$numberInt":"2147483648"}})",
           R"({"a":{"$numberLong":"1.5"}})",
           R"({"a":{"$numberDouble":"x"}})",
           R"({"a":{"$numberDecimal":"x"}})",
           R"({"a":{"$binary":{"base64":"!","subType":"00"}}})",
           R"({"a":{"$binary":{"base64":"AA==","subType":"100"}}})",
           R"({"a":{"$binary":"AA=="}})",
           R"({"a":{"$uuid":"c8edabc3"}})",
           R"({"a":{"$date":"yesterday"}})",
           R"({"a":{"$date":"2012-13-24T12:15:30Z"}})",
           R"({"a":{"$timestamp":{"t":-1,"i":1}}})",
           R"({"a":{"$minKey":2}})",
           R"({"a":{"$undefined":false}})",
           R"({"a":{"$regularExpression":{"pattern":"a\u0000","options":""}}})",
           R"({"$oid":"56e1fc72e0c917e9c4714161"})",
       }) {
    Result<Document> doc = Document::FromJson(text);
    ASSERT_FALSE(doc.ok()) << text;
    EXPECT_EQ(doc.status().code(), kFailedToParse) << text;
  }
}

TEST(Json, LimitsNesting) {
  auto nested = [](int levels) {
    std::string text;
    for (int i = 1; i < levels; ++i) {
      text += "{\"a\":";
    }
    return text + "{}" + std::string(static_cast<size_t>(levels - 1), '}');
  };
  EXPECT_TRUE(Document::FromJson(nested(201)).ok());
  EXPECT_FALSE(Document::FromJson(nested(202)).ok());
  EXPECT_FALSE(Document::FromJson(std::string(1000000, '[')).ok());
  EXPECT_FALSE(Document::FromJson("{\"a\":" + std::string(1000000, '[')).ok());
}

TEST(Json, ReplacesInvalidUtf8) {
  Builder b;
  b.Append("a", std::string_view("x\xffy"));
  Document doc = b.Finish();
  EXPECT_EQ(ToJson(doc.view()), "{\"a\":\"x\xef\xbf\xbdy\"}");
  EXPECT_EQ(ToJson(Value()), "");
}

TEST(ObjectId, GeneratesDistinctIdsThatReadBack) {
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) {
    ObjectId id = ObjectId::Generate();
    EXPECT_TRUE(seen.insert(id.ToHex()).second);
    EXPECT_EQ(ObjectId::FromHex(id.ToHex()), id);
  }
  EXPECT_FALSE(ObjectId::FromHex(""));
  EXPECT_FALSE(ObjectId::FromHex("zzzzzzzzzzzzzzzzzzzzzzzz"));
}

}  // namespace
}  // namespace quire::bson
