// SPDX-License-Identifier: Apache-2.0
#include "expr/match/match.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "bson/testing/kept_json.h"
#include "expr/collation/collator.h"
#include "expr/match/leaf.h"
#include "expr/match/node.h"

namespace quire::expr::match {
namespace {

bson::View Json(std::string_view text) { return bson::KeptJson(text); }

struct Case {
  const char* filter;
  const char* document;
  bool matches;
};

void Check(const Case& c, const Context& context = {}) {
  bson::View filter = Json(c.filter);
  auto parsed = Filter::Parse(filter, &context);
  ASSERT_TRUE(parsed.ok()) << c.filter << ": " << parsed.status().ToString();
  auto matches = (*parsed)->Matches(Json(c.document));
  ASSERT_TRUE(matches.ok()) << c.filter;
  EXPECT_EQ(*matches, c.matches) << c.filter << " on " << c.document;
}

TEST(Filter, Comparisons) {
  const Case cases[] = {
      {"{}", "{\"a\": 1}", true},
      {"{\"a\": 5}", "{\"a\": 5.0}", true},
      {"{\"a\": 5}", "{\"a\": {\"$numberDecimal\": \"5.00\"}}", true},
      {"{\"a\": 5}", "{\"a\": [1, 5]}", true},
      {"{\"a\": 5}", "{\"a\": \"5\"}", false},
      {"{\"a\": [1, 5]}", "{\"a\": [1, 5]}", true},
      {"{\"a\": [1, 5]}", "{\"a\": [[1, 5], 2]}", true},
      {"{\"a\": {\"x\": 1}}", "{\"a\": {\"x\": 1.0}}", true},
      {"{\"a\": {\"x\": 1, \"y\": 2}}", "{\"a\": {\"y\": 2, \"x\": 1}}", false},
      {"{\"a\": {\"$gt\": 5}}", "{\"a\": \"9\"}", false},
      {"{\"a\": {\"$gt\": 5, \"$lt\": 7}}", "{\"a\": [4, 8]}", true},
      {"{\"a\": {\"$gte\": null}}", "{}", true},
      {"{\"a\": {\"$gt\": null}}", "{}", false},
      {"{\"a\": {\"$ne\": 5}}", "{\"a\": [1, 5]}", false},
      {"{\"a\": {\"$ne\": 5}}", "{}", true},
      {"{\"a\": {\"$lt\": {\"$minKey\": 1}}}", "{\"a\": 1}", false},
      {"{\"a\": {\"$gt\": {\"$minKey\": 1}}}", "{\"a\": 1}", true},
      {"{\"a\": {\"$lte\": {\"$maxKey\": 1}}}", "{\"a\": \"x\"}", true},
      {"{\"a\": {\"$gt\": {\"$maxKey\": 1}}}", "{\"a\": \"x\"}", false},
      {"{\"a\": {\"$gte\": {\"$numberDouble\": \"NaN\"}}}", "{\"a\": {\"$numberDouble\": \"NaN\"}}",
       true},
      {"{\"a\": {\"$lt\": 5}}", "{\"a\": {\"$numberDouble\": \"NaN\"}}", false},
      {"{\"a\": {\"$ref\": \"c\", \"$id\": 1}}", "{\"a\": {\"$ref\": \"c\", \"$id\": 1}}", true},
  };
  for (const Case& c : cases) Check(c);
}

TEST(Filter, NullAndMissingOnDottedPaths) {
  const std::pair<const char*, bool> shapes[] = {
      {"{}", true},
      {"{\"a\": 1}", true},
      {"{\"a\": null}", true},
      {"{\"a\": {}}", true},
      {"{\"a\": {\"b\": null}}", true},
      {"{\"a\": {\"b\": 5}}", false},
      {"{\"a\": []}", false},
      {"{\"a\": [{}]}", true},
      {"{\"a\": [1, 2]}", false},
      {"{\"a\": [{\"b\": 5}]}", false},
      {"{\"a\": [{\"b\": 5}, {}]}", true},
      {"{\"a\": [1, {\"b\": 5}]}", false},
      {"{\"a\": [[{\"b\": 5}]]}", false},
      {"{\"a\": {\"b\": []}}", false},
      {"{\"a\": {\"b\": [null]}}", true},
  };
  for (const auto& [document, matches] : shapes) {
    Check({"{\"a.b\": null}", document, matches});
    Check({"{\"a.b\": {\"$ne\": null}}", document, !matches});
    Check({"{\"a.b\": {\"$in\": [null]}}", document, matches});
  }
}

TEST(Filter, NumericPathParts) {
  const Case cases[] = {
      {"{\"a.0\": 5}", "{\"a\": [5, 6]}", true},
      {"{\"a.0\": 5}", "{\"a\": {\"0\": 5}}", true},
      {"{\"a.0\": 5}", "{\"a\": [{\"0\": 5}]}", true},
      {"{\"a.0\": 5}", "{\"a\": [6, 5]}", false},
      {"{\"a.0\": 5}", "{\"a\": [[5]]}", false},
      {"{\"a.0\": [5]}", "{\"a\": [[5]]}", true},
      {"{\"a.0\": 5}", "{\"a\": [{\"0\": [5]}]}", true},
      {"{\"a.0.1\": 2}", "{\"a\": [[1, 2], 3]}", true},
      {"{\"a.0.b\": 1}", "{\"a\": [[{\"b\": 1}]]}", true},
      {"{\"a.0.b\": 1}", "{\"a\": [[[{\"b\": 1}]]]}", false},
      {"{\"a.0.0.b\": 1}", "{\"a\": [[[{\"b\": 1}]]]}", true},
      {"{\"a.00\": 10}", "{\"a\": [10]}", false},
      {"{\"a.1\": null}", "{\"a\": [1]}", false},
      {"{\"a.1.b\": 4}", "{\"a\": [5, {\"b\": 4}]}", true},
      {"{\"a.0\": {\"$size\": 2}}", "{\"a\": [[1, 2], 3]}", true},
  };
  for (const Case& c : cases) Check(c);
}

TEST(Filter, ArraysAndElements) {
  const Case cases[] = {
      {"{\"a\": {\"$all\": [1, 2]}}", "{\"a\": [2, 1, 3]}", true},
      {"{\"a\": {\"$all\": []}}", "{\"a\": []}", false},
      {"{\"a\": {\"$all\": [null]}}", "{}", true},
      {"{\"a\": {\"$all\": [{\"$match\": 1}]}}", "{\"a\": [{\"$match\": 1}]}", true},
      {"{\"a\": {\"$all\": [[1, 2]]}}", "{\"a\": [1, 2]}", true},
      {"{\"a\": {\"$all\": [{\"$elemMatch\": {\"x\": 1}}, {\"$elemMatch\": {\"y\": 2}}]}}",
       "{\"a\": [{\"x\": 1}, {\"y\": 2}]}", true},
      {"{\"a\": {\"$elemMatch\": {\"x\": 1, \"y\": 2}}}", "{\"a\": [{\"x\": 1}, {\"y\": 2}]}",
       false},
      {"{\"a\": {\"$elemMatch\": {\"$gt\": 3, \"$lt\": 5}}}", "{\"a\": [2, 6]}", false},
      {"{\"a\": {\"$elemMatch\": {\"$not\": {\"$gt\": 3}}}}", "{\"a\": [5, 1]}", true},
      {"{\"a\": {\"$elemMatch\": {\"$elemMatch\": {\"$gte\": 5}}}}", "{\"a\": [[1, 2], [5]]}",
       true},
      {"{\"a\": {\"$elemMatch\": {\"0\": 5}}}", "{\"a\": [[5]]}", true},
      {"{\"a\": {\"$elemMatch\": {\"$or\": [{\"x\": 1}, {\"x\": 2}]}}}", "{\"a\": [{\"x\": 2}]}",
       true},
      {"{\"a\": {\"$size\": 0}}", "{\"a\": []}", true},
      {"{\"a\": {\"$size\": 2}}", "{\"a\": [[1, 2], 3, 4]}", false},
      {"{\"a\": {\"$exists\": true}}", "{\"a\": null}", true},
      {"{\"a.b\": {\"$exists\": false}}", "{\"a\": [1]}", true},
      {"{\"a\": {\"$type\": \"array\"}}", "{\"a\": []}", true},
      {"{\"a\": {\"$type\": \"number\"}}", "{\"a\": [\"x\", 1]}", true},
      {"{\"a\": {\"$type\": [-1, 127]}}", "{\"a\": {\"$maxKey\": 1}}", true},
      {"{\"a\": {\"$type\": \"null\"}}", "{}", false},
  };
  for (const Case& c : cases) Check(c);
}

TEST(Filter, EvaluationOperators) {
  const Case cases[] = {
      {"{\"a\": {\"$mod\": [4, 0]}}", "{\"a\": 8}", true},
      {"{\"a\": {\"$mod\": [4, -1]}}", "{\"a\": -5}", true},
      {"{\"a\": {\"$mod\": [4.9, 0]}}", "{\"a\": 8.7}", true},
      {"{\"a\": {\"$mod\": [-1, 0]}}", "{\"a\": {\"$numberLong\": \"-9223372036854775808\"}}",
       true},
      {"{\"a\": {\"$mod\": [4, 0]}}", "{\"a\": {\"$numberDouble\": \"NaN\"}}", false},
      {"{\"a\": {\"$regex\": \"^b\", \"$options\": \"i\"}}", "{\"a\": [\"x\", \"Bx\"]}", true},
      {"{\"a\": {\"$options\": \"i\", \"$regex\": \"^b\"}}", "{\"a\": \"B\"}", true},
      {"{\"a\": {\"$regularExpression\": {\"pattern\": \"^b\", \"options\": \"\"}}}",
       "{\"a\": \"ab\"}", false},
      {"{\"a\": {\"$regularExpression\": {\"pattern\": \"^b\", \"options\": \"\"}}}",
       "{\"a\": {\"$regularExpression\": {\"pattern\": \"^b\", \"options\": \"\"}}}", true},
      {"{\"a\": {\"$not\": {\"$regularExpression\": {\"pattern\": \"b\", \"options\": \"\"}}}}",
       "{\"a\": \"abc\"}", false},
      {"{\"a\": {\"$in\": [1, {\"$regularExpression\": {\"pattern\": \"^b\", \"options\": "
       "\"\"}}]}}",
       "{\"a\": \"bx\"}", true},
      {"{\"a\": {\"$regex\": \"^.$\"}}", "{\"a\": \"\xC3\xA9\"}", true},
      {"{\"a\": {\"$bitsAllSet\": [0, 2]}}", "{\"a\": 5}", true},
      {"{\"a\": {\"$bitsAllSet\": 6}}", "{\"a\": 5}", false},
      {"{\"a\": {\"$bitsAnyClear\": [70]}}", "{\"a\": -1}", false},
      {"{\"a\": {\"$bitsAllClear\": [70]}}", "{\"a\": 1}", true},
      {"{\"a\": {\"$bitsAnySet\": [3, 9]}}",
       "{\"a\": {\"$binary\": {\"base64\": \"AAI=\", \"subType\": \"00\"}}}", true},
      {"{\"a\": {\"$bitsAllSet\": [0]}}", "{\"a\": 1.5}", false},
      {"{\"$comment\": \"why\", \"a\": 1}", "{\"a\": 1}", true},
      {"{\"$sampleRate\": 0}", "{}", false},
      {"{\"$sampleRate\": 1.0}", "{}", true},
      {"{\"$alwaysFalse\": 1}", "{}", false},
  };
  for (const Case& c : cases) Check(c);
}

TEST(Filter, Logic) {
  const Case cases[] = {
      {"{\"$or\": [{\"a\": 1}, {\"b\": 2}]}", "{\"b\": 2}", true},
      {"{\"$nor\": [{\"a\": 1}, {\"b\": 2}]}", "{\"b\": 3}", true},
      {"{\"$and\": [{\"a\": 1}, {\"a\": 2}]}", "{\"a\": [1, 2]}", true},
      {"{\"$or\": [{\"a\": 1}, {}]}", "{}", true},
      {"{\"$nor\": [{}]}", "{}", false},
      {"{\"a\": {\"$not\": {\"$not\": {\"$gt\": 3}}}}", "{\"a\": 5}", true},
      {"{\"a\": {\"$not\": {\"$gt\": 1, \"$lt\": 5}}}", "{\"a\": 3}", false},
      {"{\"a\": 1, \"b\": 2, \"c\": {\"$ne\": 3}}", "{\"c\": 4, \"b\": 2, \"a\": 1}", true},
      {"{\"a\": 1, \"b\": null, \"c\": {\"$exists\": false}}", "{\"x\": 0, \"a\": 1}", true},
      {"{\"a\": 1, \"b\": null}", "{\"a\": 1, \"b\": 7}", false},
  };
  for (const Case& c : cases) Check(c);
}

TEST(Filter, Collation) {
  auto collator = Collator::Parse(Json("{\"locale\": \"en\", \"strength\": 2}"));
  ASSERT_TRUE(collator.ok());
  Context context;
  context.collator = collator->get();
  const Case cases[] = {
      {"{\"a\": \"ABC\"}", "{\"a\": \"abc\"}", true},
      {"{\"a\": {\"$in\": [\"x\", \"y\", \"z\", \"u\", \"ABC\"]}}", "{\"a\": [\"abc\"]}", true},
      {"{\"a\": {\"x\": \"ABC\"}}", "{\"a\": {\"x\": \"abc\"}}", true},
      {"{\"a\": {\"$gt\": \"ABC\"}}", "{\"a\": \"abc\"}", false},
      {"{\"a\": {\"$regex\": \"ABC\"}}", "{\"a\": \"abc\"}", false},
  };
  for (const Case& c : cases) Check(c, context);
}

struct BadCase {
  const char* filter;
  int code;
};

TEST(Filter, Errors) {
  const BadCase cases[] = {
      {"{\"a\": {\"$gt\": 1, \"b\": 2}}", 2},
      {"{\"a\": {\"$foo\": 1}}", 2},
      {"{\"$foo\": 1}", 2},
      {"{\"$eq\": 1}", 2},
      {"{\"a\": {\"$in\": 1}}", 2},
      {"{\"a\": {\"$in\": [{\"$gt\": 0}]}}", 2},
      {"{\"a\": {\"$elemMatch\": [1]}}", 2},
      {"{\"a\": {\"$elemMatch\": {\"$gt\": 0, \"x\": 1}}}", 2},
      {"{\"a\": {\"$elemMatch\": {\"$where\": \"true\"}}}", 2},
      {"{\"a\": {\"$size\": -1}}", 2},
      {"{\"a\": {\"$size\": 1.5}}", 2},
      {"{\"a\": {\"$type\": \"integer\"}}", 2},
      {"{\"a\": {\"$type\": 0}}", 2},
      {"{\"a\": {\"$type\": []}}", 9},
      {"{\"a\": {\"$mod\": [0, 1]}}", 2},
      {"{\"a\": {\"$mod\": [2]}}", 2},
      {"{\"a\": {\"$bitsAllSet\": -1}}", 9},
      {"{\"a\": {\"$bitsAnySet\": 1.5}}", 9},
      {"{\"a\": {\"$bitsAllSet\": [-1]}}", 2},
      {"{\"a\": {\"$bitsAnySet\": null}}", 2},
      {"{\"a\": {\"$regex\": \"a(\"}}", 51091},
      {"{\"a\": {\"$regex\": \"a\", \"$options\": \"g\"}}", 51108},
      {"{\"a\": {\"$options\": \"i\"}}", 2},
      {"{\"a\": {\"$regex\": \"a\\u0000b\"}}", 2},
      {"{\"a\": {\"$not\": {}}}", 2},
      {"{\"a\": {\"$not\": 5}}", 2},
      {"{\"a\": {\"$ne\": {\"$regularExpression\": {\"pattern\": \"x\", \"options\": \"\"}}}}", 2},
      {"{\"$and\": []}", 2},
      {"{\"$or\": [1]}", 2},
      {"{\"$nor\": {}}", 2},
      {"{\"$sampleRate\": 2}", 2},
      {"{\"a\": {\"$gt\": 1, \"$comment\": \"c\"}}", 2},
      {"{\"a\": {\"$eq\": {\"$undefined\": true}}}", 2},
  };
  Context context;
  for (const BadCase& c : cases) {
    auto parsed = Filter::Parse(Json(c.filter), &context);
    EXPECT_EQ(parsed.status().code(), c.code) << c.filter << " " << parsed.status().ToString();
  }
}

TEST(Filter, SaysWhatIsWrongWithASize) {
  const std::pair<const char*, const char*> cases[] = {
      {R"("x")", R"(Expected a number in: $size: "x")"},
      {"1.5", "Expected an integer: $size: 1.5"},
      {"4294967296", "Cannot represent $size: 4294967296 in an int"},
      {"-1", "Expected a non-negative number in: $size: -1"},
  };
  Context context;
  for (const auto& [size, text] : cases) {
    auto parsed = Filter::Parse(Json("{\"a\": {\"$size\": " + std::string(size) + "}}"), &context);
    EXPECT_EQ(parsed.status().message(), "Failed to parse $size. " + std::string(text));
  }
}

TEST(Filter, DeepNestingIsRefused) {
  std::string filter = "{\"a\": 1}";
  for (int i = 0; i < 120; ++i) filter = "{\"$and\": [" + filter + "]}";
  auto document = bson::Document::FromJson(filter);
  if (document.ok()) {
    Context context;
    EXPECT_EQ(Filter::Parse(*document, &context).status().code(), 2);
  }
}

TEST(Filter, NormalisedForm) {
  const std::pair<const char*, const char*> cases[] = {
      {"{\"a\": 7}", "{ \"a\" : { \"$eq\" : 7 } }"},
      {"{\"time\": {\"$gte\": 20, \"$lt\": 60}}",
       "{ \"$and\" : [ { \"time\" : { \"$lt\" : 60 } }, { \"time\" : { \"$gte\" : 20 } } ] }"},
      {"{\"$and\": [{\"$and\": [{\"a\": {\"$gt\": 3}}]}, {\"b\": 2}]}",
       "{ \"$and\" : [ { \"b\" : { \"$eq\" : 2 } }, { \"a\" : { \"$gt\" : 3 } } ] }"},
      {"{\"a\": {\"$in\": [\"x\", 4, null]}}", "{ \"a\" : { \"$in\" : [ null, 4, \"x\" ] } }"},
      {"{\"a\": {\"$in\": [5]}}", "{ \"a\" : { \"$eq\" : 5 } }"},
      {"{\"a\": {\"$exists\": false}}", "{ \"a\" : { \"$not\" : { \"$exists\" : true } } }"},
      {"{\"a\": {\"$elemMatch\": {\"$gt\": 3, \"$lt\": 6}}}",
       "{ \"a\" : { \"$elemMatch\" : { \"$lt\" : 6, \"$gt\" : 3 } } }"},
      {"{\"a\": {\"$elemMatch\": {\"b\": 2, \"c\": 5}}}",
       "{ \"a\" : { \"$elemMatch\" : { \"$and\" : [ { \"b\" : { \"$eq\" : 2 } }, { \"c\" : { "
       "\"$eq\" : 5 } } ] } } }"},
      {"{\"$or\": [{\"a\": 2}, {\"a\": 1}]}", "{ \"a\" : { \"$in\" : [ 1, 2 ] } }"},
      {"{\"k\": {\"$type\": \"string\"}}", "{ \"k\" : { \"$type\" : [ 2 ] } }"},
      {"{\"$nor\": [{\"a\": 3}]}", "{ \"$nor\" : [ { \"a\" : { \"$eq\" : 3 } } ] }"},
      {"{}", "{  }"},
  };
  Context context;
  for (const auto& [filter, want] : cases) {
    auto parsed = Filter::Parse(Json(filter), &context);
    ASSERT_TRUE(parsed.ok());
    bson::Document got = Serialize((*parsed)->root());
    EXPECT_EQ(bson::ToJson(got), bson::ToJson(Json(want))) << filter;
  }
}

TEST(Filter, ArrayPosition) {
  const std::tuple<const char*, const char*, const char*> cases[] = {
      {"{\"a\": 5}", "{\"a\": [1, 5]}", "1"},
      {"{\"a.b\": 5}", "{\"a\": [{\"b\": 1}, {\"b\": [4, 5]}]}", "1"},
      {"{\"a\": {\"$elemMatch\": {\"$gt\": 3}}}", "{\"a\": [1, 2, 9]}", "2"},
      {"{\"a\": 5, \"b\": 7}", "{\"a\": [1, 5], \"b\": [7]}", "0"},
      {"{\"a.1\": 5}", "{\"a\": [1, 5]}", ""},
      {"{\"$or\": [{\"a\": 5}, {\"b\": 7}]}", "{\"a\": [1, 5]}", ""},
      {"{\"a\": {\"$ne\": 5}}", "{\"a\": [1, 2]}", ""},
      {"{\"a\": [1, 2]}", "{\"a\": [1, 2]}", ""},
  };
  Context context;
  for (const auto& [filter, document, index] : cases) {
    auto parsed = Filter::Parse(Json(filter), &context);
    ASSERT_TRUE(parsed.ok());
    Details details;
    EXPECT_TRUE(*(*parsed)->Matches(Json(document), nullptr, &details)) << filter;
    EXPECT_EQ(details.array_index, index) << filter;
  }
}

// Predicates on several fields are decided in one walk over the document: the same as one by one.
// The names share beginnings and lengths, and the values types.
TEST(Filter, AWalkForAllPredicatesIsOneForEach) {
  const std::string names[] = {"a",
                               "b",
                               "ab",
                               "ac",
                               "aXXX",
                               "aYYY",
                               "field",
                               "fielt",
                               "a name of sixteen",
                               "a name of sixteen and more"};
  const char* values[] = {"1",
                          "2",
                          "2.5",
                          "\"1\"",
                          "\"text\"",
                          "null",
                          "{\"$numberLong\": \"2\"}",
                          "{\"$date\": {\"$numberLong\": \"5\"}}",
                          "{\"$date\": {\"$numberLong\": \"6\"}}",
                          "{\"$numberDouble\": \"NaN\"}",
                          "[1, 2]",
                          "{\"x\": 1}"};
  const char* operators[] = {"$eq", "$gt", "$gte", "$lt", "$lte", "$ne"};
  std::mt19937 random(3);
  auto one_of = [&](const auto& list) { return list[random() % std::size(list)]; };
  auto quoted = [](const std::string& text) { return "\"" + text + "\""; };
  Context context;
  int matched = 0;
  for (int round = 0; round < 6000; ++round) {
    std::string document;
    for (uint32_t field = random() % 25; field > 0; --field) {
      document += (document.empty() ? "" : ", ") + quoted(one_of(names)) + ": " + one_of(values);
    }
    const bson::Document row = *bson::Document::FromJson("{" + document + "}");
    std::string all;
    bool expected = true;
    for (uint32_t predicate = 2 + random() % 3; predicate > 0; --predicate) {
      const std::string one = "{" + quoted(one_of(names)) + ": {" + quoted(one_of(operators)) +
                              ": " + one_of(values) + "}}";
      const bson::Document filter = *bson::Document::FromJson(one);
      expected = *(*Filter::Parse(filter, &context))->Matches(row) && expected;
      all += (all.empty() ? "" : ", ") + one;
    }
    const bson::Document filter = *bson::Document::FromJson("{\"$and\": [" + all + "]}");
    ASSERT_EQ(*(*Filter::Parse(filter, &context))->Matches(row), expected)
        << all << " on " << document;
    matched += expected ? 1 : 0;
  }
  EXPECT_GT(matched, 50);
  EXPECT_LT(matched, 5000);
}

// Names that differ in one byte only, each the same size as the one looked for.
TEST(Filter, AndTellsNamesOfOneSizeApart) {
  const Context context;
  for (size_t size = 1; size <= 12; ++size) {
    const std::string name(size, 'a');
    const bson::Document filter =
        bson::Builder().Append(name, 1).BeginDocument("z").Append("$ne", 1).End().Finish();
    const auto parsed = Filter::Parse(filter, &context);
    ASSERT_TRUE(parsed.ok());
    auto matches = [&](const std::string& field) {
      const bson::Document document = bson::Builder().Append(field, 1).Finish();
      return *(*parsed)->Matches(document);
    };
    EXPECT_TRUE(matches(name));
    for (size_t at = 1; at < size; ++at) {
      std::string other = name;
      other[at] = 'b';
      EXPECT_FALSE(matches(other)) << other;
    }
  }
}

TEST(RegexPrefix, WhatAnIndexCanUse) {
  const std::tuple<const char*, const char*, const char*, bool> cases[] = {
      {"^abc", "", "abc", true},   {"^abc.*", "s", "abc", true}, {"^abc.*", "", "abc", false},
      {"abc", "", "", false},      {"^abc", "i", "", false},     {"^ab?c", "", "a", false},
      {"^a\\.b", "", "a.b", true}, {"^abc", "m", "", false},     {"\\Aabc", "m", "abc", true},
      {"^(a|b)", "", "", false},   {"^ab+", "", "a", false},
  };
  for (const auto& [pattern, options, prefix, exact] : cases) {
    auto regex = Regex::Compile(pattern, options);
    ASSERT_TRUE(regex.ok());
    RegexPrefix found = PrefixOf(**regex);
    EXPECT_EQ(found.prefix, prefix) << pattern;
    EXPECT_EQ(found.exact, exact) << pattern;
  }
}

}  // namespace
}  // namespace quire::expr::match
