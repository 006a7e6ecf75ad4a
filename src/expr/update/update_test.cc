// SPDX-License-Identifier: Apache-2.0
#include "expr/update/update.h"

#include <gtest/gtest.h>

#include "bson/testing/json.h"
#include "expr/match/match.h"

namespace quire::expr::update {
namespace {

bson::Document Json(std::string_view text) { return bson::TestDocument(text); }

std::string Canonical(std::string_view text) {
  bson::Document document = Json(text);
  return bson::ToCanonicalJson(document.view());
}

struct Case {
  const char* document;
  const char* update;  // {u: ...} for a pipeline, else the update itself
  const char* want;    // the new document; "same" when nothing changes; "" for an error
  int error = 0;
  const char* filter = "{}";         // finds the position `$` stands for
  const char* array_filters = "{}";  // {f: [...]}
  bool inserting = false;
};

Context MakeContext() {
  Context context;
  context.now = bson::Date{1700000000000};
  context.cluster_time = bson::Timestamp{1700000000, 7};
  return context;
}

Result<std::string> Execute(const Case& test, Outcome* outcome) {
  static const Context context = MakeContext();
  bson::Document spec = Json(test.update);
  bson::Document filters = Json(test.array_filters);
  ParseOptions options;
  if (filters.view().Has("f")) {
    options.array_filters = filters["f"].AsArray();
  }
  bson::Value update = spec.view().Has("u") ? spec["u"] : bson::Value(spec.view());
  auto parsed = Update::Parse(update, options, &context);
  if (!parsed.ok()) {
    return parsed.status();
  }
  bson::Document document = Json(test.document);
  bson::Document filter_spec = Json(test.filter);
  auto filter = match::Filter::Parse(filter_spec, &context);
  if (!filter.ok()) {
    return filter.status();
  }
  match::Details details;
  auto matches = (*filter)->Matches(document, nullptr, &details);
  EXPECT_TRUE(matches.ok() && *matches) << test.filter;
  std::string out;
  auto applied = (*parsed)->Apply(document, details.array_index, test.inserting, &out);
  if (!applied.ok()) {
    EXPECT_TRUE(out.empty());
    return applied.status();
  }
  *outcome = *applied;
  return out;
}

void Check(const Case& test) {
  SCOPED_TRACE(std::string(test.document) + " <- " + test.update);
  Outcome outcome;
  Result<std::string> got = Execute(test, &outcome);
  if (test.error != 0) {
    ASSERT_FALSE(got.ok()) << bson::ToCanonicalJson(bson::View(got->data()));
    EXPECT_EQ(got.status().code(), test.error) << got.status().ToString();
    return;
  }
  ASSERT_TRUE(got.ok()) << got.status().ToString();
  if (std::string_view(test.want) == "same") {
    EXPECT_FALSE(outcome.modified);
    EXPECT_TRUE(got->empty()) << bson::ToCanonicalJson(bson::View(got->data()));
    return;
  }
  ASSERT_TRUE(outcome.modified);
  EXPECT_EQ(bson::ToCanonicalJson(bson::View(got->data())), Canonical(test.want));
}

TEST(Update, FieldOperators) {
  const Case kCases[] = {
      {"{_id: 1, a: 1, z: 2}", "{$set: {a: 5}}", "{_id: 1, a: 5, z: 2}"},
      {"{_id: 1, a: 1}", "{$set: {a: 1}}", "same"},
      {"{_id: 1, a: 1}", "{$set: {a: 1.0}}", "{_id: 1, a: 1.0}"},
      {"{_id: 1}", "{$set: {z: 1, b: 2, '10': 3, '9': 4}}",
       "{_id: 1, '9': 4, '10': 3, b: 2, z: 1}"},
      {"{_id: 1}", "{$set: {'a.b.c': 1, 'a.b.d': 2}}", "{_id: 1, a: {b: {c: 1, d: 2}}}"},
      {"{_id: 1, a: 5}", "{$set: {'a.b': 1}}", "", 28},
      {"{_id: 1, a: null}", "{$set: {'a.b': 1}}", "", 28},
      {"{_id: 1, a: [1, 2]}", "{$set: {'a.x': 1}}", "", 28},
      {"{_id: 1, a: [1]}", "{$set: {'a.3': 9}}", "{_id: 1, a: [1, null, null, 9]}"},
      {"{_id: 1, a: []}", "{$set: {'a.1500001': 9}}", "", 34},
      {"{_id: 1, a: [1]}", "{$unset: {'a.5000000': 1}}", "same"},
      {"{_id: 1}", "{$set: {'a.0': 9}}", "{_id: 1, a: {'0': 9}}"},
      {"{_id: 1, a: 1}", "{$unset: {a: 1, b: 1}}", "{_id: 1}"},
      {"{_id: 1, a: 5}", "{$unset: {'a.b': 1}}", "same"},
      {"{_id: 1, a: [1, 2]}", "{$unset: {'a.0': 1}}", "{_id: 1, a: [null, 2]}"},
      {"{_id: 1, a: 5}", "{$min: {a: 3}, $max: {b: 4}}", "{_id: 1, a: 3, b: 4}"},
      {"{_id: 1, a: 5}", "{$min: {a: 7}}", "same"},
      {"{_id: 1, a: 5}", "{$max: {a: 'x'}}", "{_id: 1, a: 'x'}"},
      {"{_id: 1}", "{$currentDate: {a: true, b: {$type: 'timestamp'}}}",
       "{_id: 1, a: {$date: {$numberLong: '1700000000000'}}, b: {$timestamp: {t: 1700000000, i: "
       "7}}}"},
      {"{_id: 1}", "{$currentDate: {a: 1}}", "", 2},
      {"{_id: 1}", "{$setOnInsert: {a: 1}}", "same"},
      {"{_id: 1}", "{$setOnInsert: {a: 1}}", "{_id: 1, a: 1}", 0, "{}", "{}", true},
      {"{a: 1}", "{$setOnInsert: {_id: 7}}", "{_id: 7, a: 1}", 0, "{}", "{}", true},
      {"{_id: 1}", "{$set: {}}", "same"},
      {"{_id: 1}", "{$set: {'': 1}}", "", 56},
      {"{_id: 1}", "{$set: {'a.': 1}}", "", 56},
      {"{_id: 1}", "{$set: {$x: 1}}", "", 52},
      {"{_id: 1}", "{$set: 5}", "", 9},
      {"{_id: 1}", "{$foo: {a: 1}}", "", 9},
      {"{_id: 1}", "{$set: {a: 1}, b: 1}", "", 9},
      {"{_id: 1}", "{b: 1, $set: {a: 1}}", "", 52},
      {"{_id: 1}", "{$set: {_id: 2}}", "", 66},
      {"{_id: 1}", "{$unset: {_id: 1}}", "", 66},
      {"{_id: 1, a: 1}", "{$set: {_id: 1, a: 2}}", "{_id: 1, a: 2}"},
      {"{_id: {a: 1}}", "{$set: {'_id.b': 1}}", "", 66},
      {"{_id: 1}", "{$set: {a: 1}, $inc: {'a.b': 1}}", "", 40},
      {"{_id: 1}", "{$set: {'a.b': 1, a: 1}}", "", 40},
  };
  for (const Case& test : kCases) {
    Check(test);
  }
}

TEST(Update, NumbersKeepMongoTypes) {
  const Case kCases[] = {
      {"{_id: 1, a: 1}", "{$inc: {a: 2, b: 3}}", "{_id: 1, a: 3, b: 3}"},
      {"{_id: 1, a: 2147483647}", "{$inc: {a: 1}}", "{_id: 1, a: {$numberLong: '2147483648'}}"},
      {"{_id: 1, a: {$numberLong: '9223372036854775807'}}", "{$inc: {a: 1}}", "", 2},
      {"{_id: 1, a: 1}", "{$inc: {a: 0}}", "same"},
      {"{_id: 1, a: -0.0}", "{$inc: {a: 0.0}}", "same"},
      {"{_id: 1, a: 1}", "{$inc: {a: 0.0}}", "{_id: 1, a: 1.0}"},
      {"{_id: 1, a: 1}", "{$inc: {a: {$numberDecimal: '0.1'}}}",
       "{_id: 1, a: {$numberDecimal: '1.1'}}"},
      {"{_id: 1, a: null}", "{$inc: {a: 1}}", "", 14},
      {"{_id: 1}", "{$inc: {a: 'x'}}", "", 14},
      {"{_id: 1, a: 3}", "{$mul: {a: 2, b: 5, c: {$numberLong: '5'}, d: 1.5}}",
       "{_id: 1, a: 6, b: 0, c: {$numberLong: '0'}, d: 0.0}"},
      {"{_id: 1, a: 13}", "{$bit: {a: {and: 10}, b: {or: {$numberLong: '4'}}}}",
       "{_id: 1, a: 8, b: {$numberLong: '4'}}"},
      {"{_id: 1, a: 5}", "{$bit: {a: {or: 1}}}", "same"},
      {"{_id: 1, a: 5.0}", "{$bit: {a: {or: 1}}}", "", 2},
      {"{_id: 1, a: 5}", "{$bit: {a: {nand: 1}}}", "", 2},
      {"{_id: 1, a: 5}", "{$bit: {a: {}}}", "", 2},
  };
  for (const Case& test : kCases) {
    Check(test);
  }
}

TEST(Update, Rename) {
  const Case kCases[] = {
      {"{_id: 1, a: 1, c: 2}", "{$rename: {a: 'b'}}", "{_id: 1, c: 2, b: 1}"},
      {"{_id: 1, a: 1, c: 2}", "{$rename: {a: 'c'}}", "{_id: 1, c: 1}"},
      {"{_id: 1, a: {b: 1}}", "{$rename: {'a.b': 'x.y'}}", "{_id: 1, a: {}, x: {y: 1}}"},
      {"{_id: 1}", "{$rename: {a: 'b'}}", "same"},
      {"{_id: 1}", "{$rename: {$a: 'b'}}", "same"},
      {"{_id: 1, a: [{b: 1}]}", "{$rename: {'a.0.b': 'c'}}", "", 2},
      {"{_id: 1, a: [1], b: 2}", "{$rename: {b: 'a.0'}}", "", 2},
      {"{_id: 1, a: 5}", "{$rename: {'a.b': 'c'}}", "", 28},
      {"{_id: 1, a: 5}", "{$rename: {a: 'a'}}", "", 2},
      {"{_id: 1, a: 5}", "{$rename: {a: 'a.b'}}", "", 2},
      {"{_id: 1, a: 5}", "{$rename: {a: 5}}", "", 2},
      {"{_id: 1, a: 5}", "{$rename: {a: '$b'}}", "", 52},
      {"{_id: 1, a: 1}", "{$rename: {a: '_id'}}", "", 66},
      {"{_id: 1, a: 5, b: 1}", "{$rename: {a: 'c'}, $set: {c: 1}}", "", 40},
  };
  for (const Case& test : kCases) {
    Check(test);
  }
}

TEST(Update, Arrays) {
  const Case kCases[] = {
      {"{_id: 1}", "{$push: {a: 1}}", "{_id: 1, a: [1]}"},
      {"{_id: 1, a: [1]}", "{$push: {a: [2]}}", "{_id: 1, a: [1, [2]]}"},
      {"{_id: 1, a: [3, 1]}", "{$push: {a: {$each: [2, 4], $sort: 1, $slice: 3}}}",
       "{_id: 1, a: [1, 2, 3]}"},
      {"{_id: 1, a: [1, 2]}", "{$push: {a: {$each: [9], $position: 1}}}", "{_id: 1, a: [1, 9, 2]}"},
      {"{_id: 1, a: [1, 2]}", "{$push: {a: {$each: [9], $position: -1}}}",
       "{_id: 1, a: [1, 9, 2]}"},
      {"{_id: 1, a: [1, 2, 3]}", "{$push: {a: {$each: [4], $slice: -2}}}", "{_id: 1, a: [3, 4]}"},
      {"{_id: 1, a: [{x: 2}, {x: 1}]}", "{$push: {a: {$each: [], $sort: {x: 1}}}}",
       "{_id: 1, a: [{x: 1}, {x: 2}]}"},
      {"{_id: 1, a: [1]}", "{$push: {a: {$each: []}}}", "same"},
      {"{_id: 1, a: 1}", "{$push: {a: 1}}", "", 2},
      {"{_id: 1}", "{$push: {a: {$each: 1}}}", "", 2},
      {"{_id: 1}", "{$push: {a: {$each: [1], $foo: 1}}}", "", 2},
      {"{_id: 1}", "{$push: {a: {$each: [1], $sort: 2}}}", "", 2},
      {"{_id: 1, a: [1]}", "{$addToSet: {a: {$each: [1, 2, 2.0, 3]}}}", "{_id: 1, a: [1, 2, 3]}"},
      {"{_id: 1, a: [1]}", "{$addToSet: {a: 1}}", "same"},
      {"{_id: 1}", "{$addToSet: {a: {$each: 1}}}", "", 14},
      {"{_id: 1, a: [1, 2, 3]}", "{$pop: {a: 1}}", "{_id: 1, a: [1, 2]}"},
      {"{_id: 1, a: [1, 2, 3]}", "{$pop: {a: -1}}", "{_id: 1, a: [2, 3]}"},
      {"{_id: 1, a: []}", "{$pop: {a: 1}}", "same"},
      {"{_id: 1, a: 1}", "{$pop: {a: 1}}", "", 14},
      {"{_id: 1, a: [1]}", "{$pop: {a: 2}}", "", 9},
      {"{_id: 1, a: [1, 5, 2]}", "{$pull: {a: {$gt: 1}}}", "{_id: 1, a: [1]}"},
      {"{_id: 1, a: [{x: 1, y: 2}, {x: 2}, 1]}", "{$pull: {a: {x: 1}}}",
       "{_id: 1, a: [{x: 2}, 1]}"},
      {"{_id: 1, a: [1, 1]}", "{$pull: {a: 1, b: 2}}", "{_id: 1, a: []}"},
      {"{_id: 1, a: [1]}", "{$pull: {a: 7}}", "same"},
      {"{_id: 1, a: 1}", "{$pull: {a: 1}}", "", 2},
      {"{_id: 1, a: [{b: 1}]}", "{$pull: {'a.b': 1}}", "", 28},
      {"{_id: 1, a: [1, 2, 3]}", "{$pullAll: {a: [1, 3.0]}}", "{_id: 1, a: [2]}"},
      {"{_id: 1, a: [1]}", "{$pullAll: {a: 1}}", "", 2},
  };
  for (const Case& test : kCases) {
    Check(test);
  }
}

TEST(Update, Positions) {
  const Case kCases[] = {
      {"{_id: 1, a: [1, 2]}", "{$set: {'a.$': 9}}", "{_id: 1, a: [1, 9]}", 0, "{a: 2}"},
      {"{_id: 1, a: [1, 2]}", "{$set: {'a.$': 9}}", "", 2, "{_id: 1}"},
      {"{_id: 1, a: [{b: 1}, {b: 2}]}", "{$inc: {'a.$.b': 1}}", "{_id: 1, a: [{b: 1}, {b: 3}]}", 0,
       "{'a.b': 2}"},
      {"{_id: 1, a: [1, 2]}", "{$set: {'a.$': 9, 'a.1': 3}}", "", 40, "{a: 2}"},
      {"{_id: 1, a: [1]}", "{$set: {'$.a': 1}}", "", 2},
      {"{_id: 1, a: [1]}", "{$set: {'a.$.b.$': 1}}", "", 2},
      {"{_id: 1, a: [1, 2]}", "{$inc: {'a.$[]': 1}}", "{_id: 1, a: [2, 3]}"},
      {"{_id: 1}", "{$set: {'a.$[]': 1}}", "", 2},
      {"{_id: 1, a: 5}", "{$set: {'a.$[]': 1}}", "", 2},
      {"{_id: 1, a: [1, 5]}", "{$set: {'a.$[x]': 9}}", "{_id: 1, a: [1, 9]}", 0, "{}",
       "{f: [{x: {$gt: 3}}]}"},
      {"{_id: 1, a: [{k: 1, b: [1, 8]}, {k: 2, b: [8]}]}", "{$inc: {'a.$[x].b.$[y]': 1}}",
       "{_id: 1, a: [{k: 1, b: [1, 9]}, {k: 2, b: [8]}]}", 0, "{}",
       "{f: [{'x.k': 1}, {y: {$gt: 5}}]}"},
      {"{_id: 1, a: [5]}", "{$set: {'a.$[x]': 1, 'a.$[y]': 2}}", "", 40, "{}",
       "{f: [{x: 5}, {y: 5}]}"},
      {"{_id: 1, a: [{b: 1, c: 1}]}", "{$set: {'a.$[x].b': 9, 'a.$[].c': 8}}",
       "{_id: 1, a: [{b: 9, c: 8}]}", 0, "{}", "{f: [{'x.b': 1}]}"},
      {"{_id: 1, a: [5]}", "{$set: {'a.$[x]': 1}}", "", 2},
      {"{_id: 1, a: [5]}", "{$set: {a: 1}}", "", 9, "{}", "{f: [{x: 5}]}"},
      {"{_id: 1, a: [5]}", "{$set: {'a.$[x]': 1}}", "", 9, "{}", "{f: [{x: 5}, {x: 6}]}"},
      {"{_id: 1, a: [5]}", "{$set: {'a.$[X]': 1}}", "", 2, "{}", "{f: [{X: 5}]}"},
      {"{_id: 1, a: [5]}", "{$set: {'a.$[x]': 1}}", "", 9, "{}", "{f: [{x: 5, y: 1}]}"},
      {"{_id: 1, a: [5]}", "{$set: {'a.$[x]': 1}}", "", 9, "{}", "{f: [{}]}"},
      {"{_id: 1, a: [5]}", "{$set: {'a.$[x]': 1}}", "", 2, "{}", "{f: [{$text: {$search: 'x'}}]}"},
  };
  for (const Case& test : kCases) {
    Check(test);
  }
}

TEST(Update, ReplacementsAndPipelines) {
  const Case kCases[] = {
      {"{_id: 1, a: 1}", "{b: 2}", "{_id: 1, b: 2}"},
      {"{_id: 1, a: 1}", "{b: 2, _id: 1}", "{_id: 1, b: 2}"},
      {"{_id: 1, a: 1}", "{a: 1}", "{_id: 1, a: 1}"},
      {"{_id: 1, a: 1}", "{_id: 1, a: 1}", "same"},
      {"{_id: 1, a: 1}", "{_id: 2}", "", 66},
      {"{_id: 1, a: 1}", "{u: [{$set: {b: '$a', c: {$add: ['$a', 1]}}}]}",
       "{_id: 1, a: 1, b: 1, c: 2}"},
      {"{_id: 1, a: 1}", "{u: [{$set: {a: 1}}]}", "same"},
      {"{_id: 1, a: 1}", "{u: []}", "same"},
      {"{_id: 1, a: 1, b: 2}", "{u: [{$unset: ['a']}]}", "{_id: 1, b: 2}"},
      {"{_id: 1, a: {x: 5}}", "{u: [{$replaceWith: '$a'}]}", "{_id: 1, x: 5}"},
      {"{_id: 1, a: 5}", "{u: [{$replaceWith: '$a'}]}", "", 40228},
      {"{_id: 1, a: 5}", "{u: [{$set: {_id: 9}}]}", "", 66},
      {"{_id: 1, a: 5}", "{u: [{$match: {a: 1}}]}", "", 72},
      {"{_id: 1, a: null}", "{u: [{$fill: {output: {a: {value: 2}, b: {value: '$_id'}}}}]}",
       "{_id: 1, a: 2, b: 1}"},
      {"{_id: 1, a: 5}", "{u: [{$fill: {output: {a: {value: 2}}}}]}", "same"},
      {"{_id: 1}", "{u: [{$fill: {output: {a: {method: 'locf'}}}}]}", "", 72},
      {"{_id: 1}", "{u: [{$fill: {output: {}}}]}", "", 6050203},
      {"{_id: 1, a: 5}", "{u: [{$nope: {a: 1}}]}", "", 40324},
      {"{_id: 1, a: 5}", "{u: [{$set: {a: 1}, $unset: 'a'}]}", "", 40323},
      {"{_id: 1, a: 1, b: 2}", "{u: [{$project: {b: 1}}]}", "{_id: 1, b: 2}"},
  };
  for (const Case& test : kCases) {
    Check(test);
  }
}

TEST(Update, PipelinesFailWhenADocumentIsThere) {
  for (const char* stages : {R"({"u": [{"$set": {"a": {"$add": ["x", 1]}}}]})",
                             R"({"u": [{"$project": {"a": {"$round": [{"$add": ["x", 1]}, 0]}}}]})",
                             R"({"u": [{"$replaceWith": {"a": {"$add": ["x", 1]}}}]})"}) {
    Context context;
    auto spec = bson::Document::FromJson(stages);
    ASSERT_TRUE(spec.ok());
    auto parsed = Update::Parse(spec->view()["u"], {}, &context);
    ASSERT_TRUE(parsed.ok()) << stages << parsed.status().ToString();
    std::string out;
    bson::Document empty;
    EXPECT_EQ((*parsed)->Apply(empty, "", false, &out).status().code(), 14) << stages;
  }
}

TEST(Update, ReportsTouchedPaths) {
  Outcome outcome;
  auto got = Execute({"{_id: 1, a: {b: 1}, c: [1, 2]}",
                      "{$inc: {'a.b': 1, 'c.1': 1}, $set: {'x.y.z': 1}, $min: {'c.0': 5}}", ""},
                     &outcome);
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(outcome.touched, (std::set<std::string>{"a.b", "c.1", "x"}));
  EXPECT_FALSE(outcome.all);
}

TEST(Update, RefusesDollarsWithMongosWords) {
  Context context;
  auto spec = bson::Document::FromJson(R"({"$set": {"$inc": {"a": 1}}})");
  ASSERT_TRUE(spec.ok());
  auto parsed = Update::Parse(bson::Value(spec->view()), {}, &context);
  ASSERT_TRUE(parsed.ok());
  std::string out;
  bson::Document empty;
  Status status = (*parsed)->Apply(empty, "", false, &out).status();
  EXPECT_EQ(status.code(), 52);
  EXPECT_TRUE(status.message().starts_with(
      "The dollar ($) prefixed field '$inc' in '$inc' is not allowed in the context of"))
      << status.message();
}

TEST(Update, RefusesWhatIsTooDeepOrTooLarge) {
  std::string path = "a";
  for (int i = 0; i < 190; ++i) {
    path += ".a";
  }
  Context context;
  bson::Builder set;
  set.BeginDocument("$set").Append(path, int32_t{1}).End();
  bson::Document deep = set.Finish();
  auto parsed = Update::Parse(bson::Value(deep.view()), {}, &context);
  ASSERT_TRUE(parsed.ok());
  std::string out;
  bson::Document empty;
  EXPECT_EQ((*parsed)->Apply(empty, "", false, &out).status().code(), 15);

  bson::Builder big;
  big.BeginDocument("$set").Append("a", std::string(17 << 20, 'x')).End();
  bson::Document large = big.Finish();
  parsed = Update::Parse(bson::Value(large.view()), {}, &context);
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ((*parsed)->Apply(empty, "", false, &out).status().code(), 17419);
  EXPECT_EQ((*parsed)->Apply(empty, "", true, &out).status().code(), 17420);
}

// A short update may write the same value or the same padding again and again.
TEST(Update, StopsWhereTheResultBecomesTooLarge) {
  constexpr int kArrays = 200;
  bson::Builder arrays;
  bson::Builder pads;
  pads.BeginDocument("$set");
  for (int i = 0; i < kArrays; ++i) {
    const std::string name = "a" + std::to_string(i);
    arrays.BeginArray(name).End();
    pads.Append(name + ".1499999", int32_t{1});
  }
  pads.End();
  bson::Builder elements;
  elements.BeginArray("t");
  for (int i = 0; i < kArrays; ++i) {
    elements.Push(int32_t{0});
  }
  elements.End();
  bson::Builder copies;
  copies.BeginDocument("$set").Append("t.$[]", std::string(size_t{1} << 20, 'x')).End();
  const std::pair<bson::Document, bson::Document> cases[] = {
      {arrays.Finish(), pads.Finish()},
      {elements.Finish(), copies.Finish()},
  };
  Context context;
  for (const auto& [document, spec] : cases) {
    auto parsed = Update::Parse(bson::Value(spec.view()), {}, &context);
    ASSERT_TRUE(parsed.ok());
    std::string out;
    EXPECT_EQ((*parsed)->Apply(document, "", false, &out).status().code(), 17419);
    EXPECT_LT(out.capacity(), size_t{64} << 20);
  }
}

TEST(UpsertSeed, TakesEqualities) {
  struct SeedCase {
    const char* filter;
    const char* want;
    int error = 0;
    bool replacement = false;
  };
  const SeedCase kCases[] = {
      {"{z: 1, _id: 1, b: 2}", "{_id: 1, b: 2, z: 1}"},
      {"{_id: 1, 'c.d': 3, 'c.e': {$eq: 4}, f: {$gt: 5}}", "{_id: 1, c: {d: 3, e: 4}}"},
      {"{$and: [{_id: 1}, {a: 1}, {$or: [{b: 1}, {c: 2}]}]}", "{_id: 1, a: 1}"},
      {"{$or: [{a: 1}]}", "{a: 1}"},
      {"{a: {$in: [1]}, b: {$in: [1, 2]}, c: {$all: [3]}}", "{a: 1, c: 3}"},
      {"{d: {$all: [4, 5]}}", "", 54},
      {"{$and: [{a: 1}, {a: 1}]}", "", 54},
      {"{a: 1, 'a.b': 2}", "", 54},
      {"{$expr: {$eq: ['$a', 1]}}", "", 224},
      {"{'_id.a': 1, '_id.b': 2}", "{_id: {a: 1, b: 2}}"},
      {"{'b.c.': 1, 'b.d': 3, '': 2}", "{'': 2, b: {c: {'': 1}, d: 3}}"},
      {"{_id: 5, a: 1}", "{_id: 5}", 0, true},
  };
  for (const SeedCase& test : kCases) {
    bson::Document filter = Json(test.filter);
    auto seed = UpsertSeed(filter, test.replacement);
    if (test.error != 0) {
      EXPECT_EQ(seed.status().code(), test.error) << test.filter;
      continue;
    }
    ASSERT_TRUE(seed.ok()) << test.filter;
    EXPECT_EQ(bson::ToCanonicalJson(seed->view()), Canonical(test.want));
  }
}

}  // namespace
}  // namespace quire::expr::update
