// SPDX-License-Identifier: Apache-2.0
#include "expr/accumulate/accumulator.h"

#include <gtest/gtest.h>

#include "quire/bson.h"

namespace quire::expr {
namespace {

// {f: {$op: argument}} over the documents of {d: [...]}: {r: <result>}, or the error code.
struct Case {
  const char* field;
  const char* documents;
  const char* expected;
  int code = 0;
};

Result<bson::Document> Accumulate(const Case& c) {
  bson::Document spec = *bson::Document::FromJson(c.field);
  bson::Document documents = *bson::Document::FromJson(c.documents);
  Context context;
  agg::ParseScope scope;
  scope.context = &context;
  auto accumulator = Accumulator::Parse(spec["f"].AsDocument().front(), scope);
  if (!accumulator.ok()) {
    return accumulator.status();
  }
  Arena arena;
  agg::EvalContext eval;
  eval.context = &context;
  eval.arena = &arena;
  auto state = (*accumulator)->Start(eval, bson::Value::Null());
  if (!state.ok()) {
    return state.status();
  }
  for (const bson::Element& element : documents["d"].AsArray()) {
    eval.root = element.value();
    if (Status added = (*state)->Add(eval); !added.ok()) {
      return added;
    }
  }
  auto value = (*state)->Finish(&arena);
  if (!value.ok()) {
    return value.status();
  }
  bson::Builder out;
  out.Append("r", *value);
  return out.Finish();
}

void Check(const Case& c) {
  SCOPED_TRACE(std::string(c.field) + " over " + c.documents);
  auto result = Accumulate(c);
  if (!result.ok()) {
    EXPECT_EQ(result.status().code(), c.code) << result.status().ToString();
    return;
  }
  ASSERT_EQ(c.code, 0);
  auto expected = bson::Document::FromJson(c.expected);
  ASSERT_TRUE(expected.ok());
  EXPECT_EQ(bson::ToCanonicalJson(*result), bson::ToCanonicalJson(*expected));
}

TEST(Accumulator, Results) {
  static const Case kCases[] = {
      {R"({"f": {"$sum": "$a"}})", R"({"d": [{"a": 1}, {"a": "x"}, {}, {"a": 2}]})", R"({"r": 3})"},
      {R"({"f": {"$sum": "$a"}})", R"({"d": [{"a": 2147483647}, {"a": 1}]})",
       R"({"r": {"$numberLong": "2147483648"}})"},
      {R"({"f": {"$sum": "$a"}})",
       R"({"d": [{"a": 10000000000000000.0}, {"a": 1.0}, {"a": 1.0}, {"a": -10000000000000000.0}]})",
       R"({"r": 2.0})"},
      {R"({"f": {"$sum": "$a"}})",
       R"({"d": [{"a": {"$numberDecimal": "0.1"}}, {"a": 0.1}, {"a": 0.2}]})",
       R"({"r": {"$numberDecimal": "0.4000000000000000166533453693773481"}})"},
      {R"({"f": {"$count": {}}})", R"({"d": [{}, {}]})", R"({"r": 2})"},
      {R"({"f": {"$avg": "$a"}})", R"({"d": [{"a": 1}, {"a": 2}]})", R"({"r": 1.5})"},
      {R"({"f": {"$avg": "$a"}})", R"({"d": [{}]})", R"({"r": null})"},
      {R"({"f": {"$min": "$a"}})", R"({"d": [{"a": 3}, {"a": null}, {"a": 2}, {}]})",
       R"({"r": 2})"},
      {R"({"f": {"$max": "$a"}})", R"({"d": [{"a": 3}, {"a": "s"}]})", R"({"r": "s"})"},
      {R"({"f": {"$first": "$a"}})", R"({"d": [{}, {"a": 1}]})", R"({"r": null})"},
      {R"({"f": {"$last": "$a"}})", R"({"d": [{"a": 1}, {"a": 2}]})", R"({"r": 2})"},
      {R"({"f": {"$push": "$a"}})", R"({"d": [{"a": 1}, {}, {"a": [2]}]})", R"({"r": [1, [2]]})"},
      {R"({"f": {"$addToSet": "$a"}})", R"({"d": [{"a": 1}, {"a": 1.0}, {"a": 2}, {}]})",
       R"({"r": [1, 2]})"},
      {R"({"f": {"$stdDevPop": "$a"}})", R"({"d": [{"a": 1}, {"a": 3}]})", R"({"r": 1.0})"},
      {R"({"f": {"$stdDevSamp": "$a"}})", R"({"d": [{"a": 1}]})", R"({"r": null})"},
      {R"({"f": {"$mergeObjects": "$a"}})",
       R"({"d": [{"a": {"x": 1, "y": 1}}, {"a": null}, {"a": {"x": 2}}]})",
       R"({"r": {"x": 2, "y": 1}})"},
      {R"({"f": {"$firstN": {"n": 2, "input": "$a"}}})", R"({"d": [{"a": 1}, {}, {"a": 3}]})",
       R"({"r": [1, null]})"},
      {R"({"f": {"$lastN": {"n": 2, "input": "$a"}}})", R"({"d": [{"a": 1}, {"a": 2}, {"a": 3}]})",
       R"({"r": [2, 3]})"},
      {R"({"f": {"$maxN": {"n": 2, "input": "$a"}}})", R"({"d": [{"a": 1}, {"a": 5}, {"a": 3}]})",
       R"({"r": [5, 3]})"},
      {R"({"f": {"$topN": {"n": 2, "output": "$o", "sortBy": {"a": -1}}}})",
       R"({"d": [{"a": 1, "o": "x"}, {"a": 3, "o": "y"}, {"a": 2, "o": "z"}]})",
       R"({"r": ["y", "z"]})"},
      {R"({"f": {"$bottom": {"output": "$o", "sortBy": {"a": 1}}}})",
       R"({"d": [{"a": 1, "o": "x"}, {"a": 3, "o": "y"}, {"a": 2, "o": "z"}]})", R"({"r": "y"})"},
      {R"({"f": {"$percentile": {"input": "$a", "p": [0.5, 1], "method": "approximate"}}})",
       R"({"d": [{"a": 1}, {"a": 3}, {"a": 2}]})", R"({"r": [2.0, 3.0]})"},
      {R"({"f": {"$median": {"input": "$a", "method": "approximate"}}})", R"({"d": [{"a": "x"}]})",
       R"({"r": null})"},
  };
  for (const Case& c : kCases) {
    Check(c);
  }
}

TEST(Accumulator, Errors) {
  static const Case kCases[] = {
      {R"({"f": {"$nope": 1}})", R"({"d": []})", "", 15952},
      {R"({"f": {"x": 1}})", R"({"d": []})", "", 40234},
      {R"({"f": {"$sum": ["$a", 1]}})", R"({"d": []})", "", 40237},
      {R"({"f": {"$firstN": {"input": "$a"}}})", R"({"d": []})", "", 5787906},
      {R"({"f": {"$firstN": {"n": 0, "input": "$a"}}})", R"({"d": []})", "", 7548606},
      {R"({"f": {"$topN": {"output": "$a", "sortBy": {"a": 1}}}})", R"({"d": []})", "", 5788003},
      {R"({"f": {"$mergeObjects": "$a"}})", R"({"d": [{"a": 1}]})", "", 5911200},
      {R"({"f": {"$percentile": {"input": 1, "p": [2], "method": "approximate"}}})", R"({"d": []})",
       "", 7750303},
      {R"({"f": {"$median": {"input": 1, "method": "exact"}}})", R"({"d": []})", "", 2},
  };
  for (const Case& c : kCases) {
    Check(c);
  }
}

}  // namespace
}  // namespace quire::expr
