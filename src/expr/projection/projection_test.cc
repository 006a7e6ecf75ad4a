// SPDX-License-Identifier: Apache-2.0
#include "expr/projection/projection.h"

#include <gtest/gtest.h>

#include "base/current_op.h"
#include "base/error_codes.h"
#include "bson/testing/kept_json.h"

namespace quire::expr {
namespace {

bson::View Json(std::string_view text) { return bson::KeptJson(text); }

struct Case {
  const char* spec;
  const char* document;
  const char* want;
  const char* filter = "{}";
};

void Check(const Case& c, Projection::Policy policy = Projection::Policy::kFind) {
  Context context;
  auto filter = match::Filter::Parse(Json(c.filter), &context);
  auto projection = Projection::Parse(Json(c.spec), policy, &context, filter->get());
  ASSERT_TRUE(projection.ok()) << c.spec << ": " << projection.status().ToString();
  std::string out;
  Status status = (*projection)->Apply(Json(c.document), nullptr, &out);
  ASSERT_TRUE(status.ok()) << c.spec << ": " << status.ToString();
  EXPECT_EQ(bson::ToJson(bson::View(out.data())), bson::ToJson(Json(c.want)))
      << c.spec << " on " << c.document;
}

// In time in proportion to their number; names long and short, for where they are kept.
TEST(Projection, TakesManyFields) {
  bson::Builder spec;
  for (int i = 0; i < 200'000; ++i) {
    spec.Append((i % 2 == 0 ? "f" : "a field with a long name ") + std::to_string(i), 1);
  }
  bson::Document document = spec.Finish();
  Context context;
  auto projection =
      Projection::Parse(document, Projection::Policy::kFind, &context, /*filter=*/nullptr);
  ASSERT_TRUE(projection.ok()) << projection.status().ToString();
  std::string out;
  ASSERT_TRUE((*projection)
                  ->Apply(Json(R"({"f0": 1, "f1": 2, "a field with a long name 199999": 3})"),
                          nullptr, &out)
                  .ok());
  EXPECT_EQ(bson::ToJson(bson::View(out.data())),
            R"({"f0":1,"a field with a long name 199999":3})");
  OpContext op;
  CurrentOpScope scope(&op);
  op.Kill();
  auto killed = Projection::Parse(document, Projection::Policy::kFind, &context, nullptr);
  EXPECT_EQ(killed.status().code(), kInterrupted);
}

TEST(Projection, InclusionAndExclusion) {
  const char* doc = R"({"_id": 1, "a": 1, "b": {"x": 10, "y": 20}, "c": [1, 2, 3]})";
  const Case cases[] = {
      {"{}", doc, doc},
      {R"({"c": 1, "a": true})", doc, R"({"_id": 1, "a": 1, "c": [1, 2, 3]})"},
      {R"({"_id": 0, "a": 1})", doc, R"({"a": 1})"},
      {R"({"_id": 0})", doc, R"({"a": 1, "b": {"x": 10, "y": 20}, "c": [1, 2, 3]})"},
      {R"({"_id": 1})", doc, R"({"_id": 1})"},
      {R"({"_id": 1, "a": 0})", doc, R"({"_id": 1, "b": {"x": 10, "y": 20}, "c": [1, 2, 3]})"},
      {R"({"b.y": 1})", doc, R"({"_id": 1, "b": {"y": 20}})"},
      {R"({"b": {"y": 0}, "c": 0})", doc, R"({"_id": 1, "a": 1, "b": {"x": 10}})"},
      {R"({"a.x": 1})", R"({"a": [{"x": 1, "y": 2}, 7, {"y": 3}, [{"x": 4, "y": 5}], []]})",
       R"({"a": [{"x": 1}, {}, [{"x": 4}], []]})"},
      {R"({"a.x": 0})", R"({"a": [{"x": 1, "y": 2}, 7, [{"x": 4, "y": 5}]]})",
       R"({"a": [{"y": 2}, 7, [{"y": 5}]]})"},
      {R"({"a.0": 1})", R"({"a": [10, 20]})", R"({"a": []})"},
      {R"({"_id.h": 1})", R"({"_id": {"h": 1, "d": 2}, "v": 5})", R"({"_id": {"h": 1}})"},
  };
  for (const Case& c : cases) Check(c);
}

TEST(Projection, FieldsOfReferencesMayBeNamed) {
  const char* doc = R"({"r": {"$ref": "c", "$id": 5, "$db": "d"}})";
  const Case cases[] = {
      {R"({"r.$id": 1})", doc, R"({"r": {"$id": 5}})"},
      {R"({"r.$ref": 0, "r.$db": 0})", doc, R"({"r": {"$id": 5}})"},
      {R"({"$ref": "$r.$ref"})", doc, R"({"$ref": "c"})"},
  };
  for (const Case& c : cases) {
    Check(c);
    Check(c, Projection::Policy::kAggregate);
  }
}

TEST(Projection, ArrayOperators) {
  const char* doc = R"({"_id": 1, "k": "x", "c": [1, 2, 3, 4, 5]})";
  const Case cases[] = {
      {R"({"c": {"$slice": 2}})", doc, R"({"_id": 1, "k": "x", "c": [1, 2]})"},
      {R"({"c": {"$slice": -2}})", doc, R"({"_id": 1, "k": "x", "c": [4, 5]})"},
      {R"({"c": {"$slice": [1, 2]}})", doc, R"({"_id": 1, "k": "x", "c": [2, 3]})"},
      {R"({"c": {"$slice": [-2, 9]}})", doc, R"({"_id": 1, "k": "x", "c": [4, 5]})"},
      {R"({"c": {"$slice": 0}})", doc, R"({"_id": 1, "k": "x", "c": []})"},
      {R"({"k": 1, "c": {"$slice": 1}})", doc, R"({"_id": 1, "k": "x", "c": [1]})"},
      {R"({"k": 0, "c": {"$slice": 1}})", doc, R"({"_id": 1, "c": [1]})"},
      {R"({"_id": 1, "c": {"$slice": 1}})", doc, R"({"_id": 1, "c": [1]})"},
      {R"({"c": {"$elemMatch": {"$gt": 3}}})", doc, R"({"_id": 1, "c": [4]})"},
      {R"({"c": {"$elemMatch": {"$gt": 3}}, "k": 1})", doc, R"({"_id": 1, "k": "x", "c": [4]})"},
      {R"({"k": 0, "c": {"$elemMatch": {"$gt": 9}}})", doc, R"({"_id": 1})"},
      {R"({"c.$": 1})", doc, R"({"_id": 1, "c": [3]})", R"({"c": {"$gt": 2}})"},
      {R"({"a.b.$": 1})", R"({"a": [{"b": 1, "c": 1}, {"b": 2, "c": 2}]})", R"({"a": [{"b": 2}]})",
       R"({"a.b": 2})"},
  };
  for (const Case& c : cases) Check(c);
}

TEST(Projection, ComputedFields) {
  const Case cases[] = {
      {R"({"z": "$a", "b": 1})", R"({"_id": 1, "a": 7, "b": 2})", R"({"_id": 1, "b": 2, "z": 7})"},
      {R"({"a": "$b", "b": "$a"})", R"({"a": 1, "b": 2})", R"({"a": 2, "b": 1})"},
      {R"({"gone": "$nope"})", R"({"_id": 1})", R"({"_id": 1})"},
      {R"({"_id": "$v"})", R"({"_id": 1, "v": 5})", R"({"_id": 5})"},
      {R"({"a.z": "$k"})", R"({"k": 9, "a": [{"x": 1}, 5]})", R"({"a": [{"z": 9}, {"z": 9}]})"},
      {R"({"a.x": 1, "a.z": "$k"})", R"({"k": 9, "a": [{"x": 1}, 5, {"y": 2}]})",
       R"({"a": [{"x": 1, "z": 9}, {"z": 9}, {"z": 9}]})"},
      {R"({"a.z": "$k"})", R"({"k": 7})", R"({"a": {"z": 7}})"},
      {R"({"o": {"p": "$k", "q": {"r": "$k"}}})", R"({"k": 7})",
       R"({"o": {"p": 7, "q": {"r": 7}}})"},
  };
  for (const Case& c : cases) {
    Check(c);
    Check(c, Projection::Policy::kAggregate);
  }
}

struct BadCase {
  const char* spec;
  int code;
  Projection::Policy policy = Projection::Policy::kFind;
};

TEST(Projection, ParseErrors) {
  const BadCase cases[] = {
      {R"({"a": 1, "b": 0})", 31254},
      {R"({"a": 0, "b": 1})", 31253},
      {R"({"b": {"x": 1, "y": 0}})", 31254},
      {R"({"b": 1, "b.x": 1})", 31249},
      {R"({"b.x": 1, "b": 1})", 31250},
      {R"({"": 1})", 40352},
      {R"({"a.": 1})", 40353},
      {R"({"b..x": 1})", 15998},
      {R"({"$a": 1})", 16410},
      {R"({"a": {}})", 51270},
      {R"({"a": {"x": 1, "$add": [1, 1]}})", 16410},
      {R"({"a": {"$add": [1, 1], "x": 1}})", 16410},
      {R"({"s.x": {"$elemMatch": {"a": 1}}})", 31275},
      {R"({"s": {"$elemMatch": 5}})", 31274},
      {R"({"s.$": 1, "t": {"$elemMatch": {"$gt": 0}}})", 31255},
      {R"({"t": {"$elemMatch": {"$gt": 0}}, "s.$": 1})", 31256},
      {R"({"a.$": 1, "c.$": 1})", 31276},
      {R"({"a.$.b": 1})", 31394},
      {R"({"a.$": 0})", 31395},
      {R"({"a.$": "x"})", 31308},
      {R"({"a.$": {"b": 1}})", 31271},
      {R"({"a": 0, "b": "x"})", 31310},
      {R"({"a": 0, "b": {"$add": [1, 1]}})", 31252},
      {"{}", 51272, Projection::Policy::kAggregate},
      {R"({"$": 1})", 16410},
      {R"({"$": 1})", 16410, Projection::Policy::kAggregate},
      {R"({"a.$": 1})", 31324, Projection::Policy::kAggregate},
      {R"({"a": {"$elemMatch": {"b": 1}}})", 168, Projection::Policy::kAggregate},
  };
  Context context;
  for (const BadCase& c : cases) {
    auto projection = Projection::Parse(Json(c.spec), c.policy, &context);
    EXPECT_EQ(projection.status().code(), c.code)
        << c.spec << " " << projection.status().ToString();
  }
}

TEST(Projection, PathsHaveAnEnd) {
  std::string path = "a";
  for (int i = 1; i < 200; ++i) {
    path += ".a";
  }
  Context context;
  for (auto [steps, code] : {std::pair(path, 0), std::pair(path + ".a", 15)}) {
    auto projection = Projection::Parse(Json(R"({")" + steps + R"(": 1})"),
                                        Projection::Policy::kAggregate, &context);
    EXPECT_EQ(projection.status().code(), code);
  }
}

TEST(Projection, PositionalNeedsAnArrayCondition) {
  Context context;
  auto filter = match::Filter::Parse(Json(R"({"b": 1})"), &context);
  auto projection =
      Projection::Parse(Json(R"({"a.$": 1})"), Projection::Policy::kFind, &context, filter->get());
  ASSERT_TRUE(projection.ok());
  std::string out;
  EXPECT_EQ((*projection)->Apply(Json(R"({"a": [1, 2], "b": 1})"), nullptr, &out).code(), 51246);
}

TEST(Projection, WhatThePlannerAsks) {
  Context context;
  auto parse = [&](const char* spec) {
    return *Projection::Parse(Json(spec), Projection::Policy::kFind, &context);
  };
  std::set<std::string> paths;
  EXPECT_TRUE(parse(R"({"a": 1, "b.c": 1, "_id": 0})")->PlainInclusion(&paths));
  EXPECT_EQ(paths, (std::set<std::string>{"a", "b.c"}));
  EXPECT_FALSE(parse(R"({"a": 0})")->PlainInclusion(&paths));
  EXPECT_FALSE(parse(R"({"a": {"$slice": 1}, "b": 1})")->PlainInclusion(&paths));
  std::set<std::string> fields;
  EXPECT_TRUE(parse(R"({"a.x": 1, "b": 1})")->AddDependencies(&fields));
  EXPECT_EQ(fields, (std::set<std::string>{"_id", "a", "b"}));
  EXPECT_FALSE(parse(R"({"a": 0})")->AddDependencies(&fields));
  EXPECT_TRUE(parse(R"({"a": 0})")->is_exclusion());
}

}  // namespace
}  // namespace quire::expr
