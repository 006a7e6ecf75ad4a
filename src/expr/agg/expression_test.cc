// SPDX-License-Identifier: Apache-2.0
#include "expr/agg/expression.h"

#include <gtest/gtest.h>

#include "quire/bson.h"

namespace quire::expr::agg {
namespace {

// {e: <expression>} on `document`: {r: <result>} as JSON, or the error code.
struct Case {
  const char* expression;
  const char* document;
  const char* expected;
  int code = 0;
};

void Check(const Case& c) {
  SCOPED_TRACE(std::string(c.expression) + " on " + c.document);
  auto spec = bson::Document::FromJson(c.expression);
  auto document = bson::Document::FromJson(c.document);
  ASSERT_TRUE(spec.ok() && document.ok());
  Context context;
  ParseScope scope;
  scope.context = &context;
  auto parsed = ParseExpression((*spec)["e"], scope);
  if (!parsed.ok()) {
    EXPECT_EQ(parsed.status().code(), c.code) << parsed.status().ToString();
    return;
  }
  Arena arena;
  EvalContext eval;
  eval.context = &context;
  eval.root = bson::Value(document->view());
  eval.arena = &arena;
  auto value = (*parsed)->Evaluate(eval);
  if (!value.ok()) {
    EXPECT_EQ(value.status().code(), c.code) << value.status().ToString();
    return;
  }
  EXPECT_EQ(c.code, 0);
  bson::Builder out;
  out.Append("r", *value);
  auto expected = bson::Document::FromJson(c.expected);
  ASSERT_TRUE(expected.ok());
  bson::Document actual = out.Finish();
  EXPECT_EQ(bson::ToCanonicalJson(actual), bson::ToCanonicalJson(*expected));
}

TEST(Expression, FieldPaths) {
  static const Case kCases[] = {
      {R"({"e": "$a"})", R"({"a": 1})", R"({"r": 1})"},
      {R"({"e": "$a.b"})", R"({"a": {"b": "x"}})", R"({"r": "x"})"},
      {R"({"e": "$a.b"})", R"({"a": [{"b": 1}, 5, {"c": 1}, {"b": 2}]})", R"({"r": [1, 2]})"},
      {R"({"e": "$a.b"})", R"({"a": [[{"b": 1}], {"b": 2}]})", R"({"r": [2]})"},
      {R"({"e": "$a.0"})", R"({"a": [1, 2]})", R"({"r": []})"},
      {R"({"e": "$x.y"})", R"({})", R"({})"},
      {R"({"e": "$$ROOT.a"})", R"({"a": 1})", R"({"r": 1})"},
      {R"({"e": "$$REMOVE"})", R"({})", R"({})"},
      {R"({"e": "$$nope"})", R"({})", "", 17276},
      {R"({"e": "$$DESCEND"})", R"({})", "", 17276},
      {R"({"e": "$"})", R"({})", "", 16872},
      {R"({"e": "$a..b"})", R"({})", "", 15998},
      {R"({"e": "$a."})", R"({})", "", 40353},
      {R"({"e": {"$nope": 1}})", R"({})", "", 168},
      {R"({"e": {"$add": [1], "$abs": 1}})", R"({})", "", 15983},
      {R"({"e": {"a.b": 1}})", R"({})", "", 16412},
      {R"({"e": {"a": "$x", "b": [1, "$x"]}})", R"({})", R"({"r": {"b": [1, null]}})"},
  };
  for (const Case& c : kCases) {
    Check(c);
  }
}

TEST(Expression, Numbers) {
  static const Case kCases[] = {
      {R"({"e": {"$add": [1, 2]}})", "{}", R"({"r": 3})"},
      {R"({"e": {"$add": [2147483647, 1]}})", "{}", R"({"r": {"$numberLong": "2147483648"}})"},
      {R"({"e": {"$add": [0.1, 0.2, 0.3]}})", "{}", R"({"r": 0.6})"},
      {R"({"e": {"$add": ["$d", "$d"]}})", R"({"d": {"$date": "2020-01-01T00:00:00Z"}})", "",
       16612},
      {R"({"e": {"$add": [1, "x"]}})", "{}", "", 14},
      {R"({"e": {"$add": [1, "$missing"]}})", "{}", R"({"r": null})"},
      {R"({"e": {"$subtract": [1]}})", "{}", "", 16020},
      {R"({"e": {"$multiply": [2147483647, 2, 0]}})", "{}", R"({"r": 0})"},
      {R"({"e": {"$divide": [1, 2]}})", "{}", R"({"r": 0.5})"},
      {R"({"e": {"$divide": [1, 0]}})", "{}", "", 2},
      {R"({"e": {"$pow": [2, 40]}})", "{}", R"({"r": {"$numberLong": "1099511627776"}})"},
      {R"({"e": {"$pow": [2, -1]}})", "{}", R"({"r": 0.5})"},
      {R"({"e": {"$round": [2.5]}})", "{}", R"({"r": 2.0})"},
      {R"({"e": {"$round": [1235, -1]}})", "{}", R"({"r": 1240})"},
      {R"({"e": {"$abs": {"$numberLong": "-9223372036854775808"}}})", "{}", "", 28680},
      {R"({"e": {"$bitAnd": [12, 10]}})", "{}", R"({"r": 8})"},
      {R"({"e": {"$toString": 1e16}})", "{}", R"({"r": "1e+16"})"},
      {R"({"e": {"$toInt": "12x"}})", "{}", "", 241},
      {R"({"e": {"$toLong": {"$numberDecimal": "9223372036854775807.999"}}})", "{}",
       R"({"r": {"$numberLong": "9223372036854775807"}})"},
      {R"({"e": {"$toLong": {"$numberDecimal": "9223372036854775808"}}})", "{}", "", 241},
  };
  for (const Case& c : kCases) {
    Check(c);
  }
}

TEST(Expression, Variables) {
  static const Case kCases[] = {
      {R"({"e": {"$let": {"vars": {"x": 1, "y": "$a"}, "in": {"$add": ["$$x", "$$y"]}}}})",
       R"({"a": 4})", R"({"r": 5})"},
      {R"({"e": {"$let": {"vars": {"CURRENT": "$b"}, "in": "$c"}}})", R"({"b": {"c": 7}})",
       R"({"r": 7})"},
      {R"({"e": {"$map": {"input": "$a", "in": {"$add": ["$$this", 1]}}}})", R"({"a": [1, 2]})",
       R"({"r": [2, 3]})"},
      {R"({"e": {"$filter": {"input": "$a", "as": "v", "cond": {"$gt": ["$$v", 1]}, "limit": 1}}})",
       R"({"a": [1, 2, 3]})", R"({"r": [2]})"},
      {R"({"e": {"$reduce": {"input": ["a", "b"], "initialValue": "",
                             "in": {"$concat": ["$$value", "$$this"]}}}})",
       "{}", R"({"r": "ab"})"},
      {R"({"e": {"$switch": {"branches": [{"case": {"$eq": ["$a", 1]}, "then": "one"}],
                             "default": "many"}}})",
       R"({"a": 2})", R"({"r": "many"})"},
      {R"({"e": {"$cond": {"if": true, "then": 1}}})", "{}", "", 17082},
      {R"({"e": {"$ifNull": ["$a", "$b", 3]}})", R"({"b": 2})", R"({"r": 2})"},
  };
  for (const Case& c : kCases) {
    Check(c);
  }
}

TEST(Expression, StringsAndDates) {
  static const Case kCases[] = {
      {R"({"e": {"$toUpper": "stra\u00dfe"}})", "{}", R"({"r": "STRA\u00dfE"})"},
      {R"({"e": {"$substrCP": ["\u00e9t\u00e9", 1, 1]}})", "{}", R"({"r": "t"})"},
      {R"({"e": {"$substrBytes": ["\u00e9t\u00e9", 1, 1]}})", "{}", "", 28656},
      {R"({"e": {"$split": ["a-b-", "-"]}})", "{}", R"({"r": ["a", "b", ""]})"},
      {R"({"e": {"$trim": {"input": "  x "}}})", "{}", R"({"r": "x"})"},
      {R"({"e": {"$regexFind": {"input": "\u00e9ab", "regex": "(a)(z)?"}}})", "{}",
       R"({"r": {"match": "a", "idx": 1, "captures": ["a", null]}})"},
      {R"({"e": {"$dateToString": {"date": "$d", "format": "%Y-%m-%dT%H:%M:%S%z %Z",
                                   "timezone": "America/New_York"}}})",
       R"({"d": {"$date": "2020-03-08T07:00:00Z"}})", R"({"r": "2020-03-08T03:00:00-0400 -240"})"},
      {R"({"e": {"$dateFromString": {"dateString": "2017-02-08T12:10:40.787+05:00"}}})", "{}",
       R"({"r": {"$date": "2017-02-08T07:10:40.787Z"}})"},
      {R"({"e": {"$dateAdd": {"startDate": "$d", "unit": "month", "amount": 1}}})",
       R"({"d": {"$date": "2020-01-31T00:00:00Z"}})",
       R"({"r": {"$date": "2020-02-29T00:00:00Z"}})"},
      {R"({"e": {"$dateDiff": {"startDate": "$a", "endDate": "$b", "unit": "week"}}})",
       R"({"a": {"$date": "2021-01-01T00:00:00Z"}, "b": {"$date": "2021-01-03T00:00:00Z"}})",
       R"({"r": {"$numberLong": "1"}})"},
      {R"({"e": {"$dateTrunc": {"date": "$d", "unit": "hour", "binSize": 2}}})",
       R"({"d": {"$date": "2021-03-20T11:30:05Z"}})",
       R"({"r": {"$date": "2021-03-20T10:00:00Z"}})"},
      {R"({"e": {"$isoWeek": "$d"}})", R"({"d": {"$date": "2021-01-03T00:00:00Z"}})",
       R"({"r": 53})"},
      {R"({"e": {"$hour": {"date": "$d", "timezone": "+5:30"}}})",
       R"({"d": {"$date": "2021-01-03T00:00:00Z"}})", "", 40485},
  };
  for (const Case& c : kCases) {
    Check(c);
  }
}

TEST(Expression, DeepNestingIsRefused) {
  std::string open;
  std::string close;
  for (int i = 0; i < 90; ++i) {
    open += R"({"$abs": )";
    close += "}";
  }
  auto spec = bson::Document::FromJson(R"({"e": )" + open + "1" + close + "}");
  ASSERT_TRUE(spec.ok());
  bson::Value inner = (*spec)["e"];
  // Far deeper than any parser of documents lets in.
  std::string bytes(inner.bytes());
  bson::Document nested = bson::Document::FromTrusted(bytes);
  for (int i = 0; i < 500; ++i) {
    bson::Builder b;
    b.Append("$abs", nested);
    nested = b.Finish();
  }
  Context context;
  ParseScope scope;
  scope.context = &context;
  EXPECT_FALSE(ParseExpression(bson::Value(nested.view()), scope).ok());
}

TEST(Expression, BinaryThatIsTooLongForAStringIsNotConverted) {
  constexpr size_t kMost = 16 << 20;
  const struct {
    const char* format;
    size_t bytes;
    int code;
  } kCases[] = {{"hex", kMost / 2, 241}, {"base64", kMost / 4 * 3, 241}, {"utf8", kMost, 16493}};
  for (const auto& c : kCases) {
    for (const size_t less : {0, 1024}) {
      const std::string bytes(c.bytes - less, 'x');
      bson::Builder b;
      b.Append("b", bson::Value::Binary(bytes, 0));
      const bson::Document document = b.Finish();
      const bson::Document spec =
          *bson::Document::FromJson(R"({"e": {"$convert": {"input": "$b", "to": "string",
              "format": ")" + std::string(c.format) +
                                    "\"}}}");
      Context context;
      ParseScope scope;
      scope.context = &context;
      auto parsed = ParseExpression(spec["e"], scope);
      ASSERT_TRUE(parsed.ok());
      Arena arena;
      EvalContext eval;
      eval.context = &context;
      eval.root = bson::Value(document.view());
      eval.arena = &arena;
      EXPECT_EQ((*parsed)->Evaluate(eval).status().code(), less == 0 ? c.code : 0) << c.format;
    }
  }
}

}  // namespace
}  // namespace quire::expr::agg
