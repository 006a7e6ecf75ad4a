// SPDX-License-Identifier: Apache-2.0
#include "expr/update/diff.h"

#include <gtest/gtest.h>

#include "bson/testing/json.h"

namespace quire::expr::update {
namespace {

using bson::TestDocument;

std::string Described(const bson::Document& diff, bool disambiguate = false) {
  bson::Builder out;
  AppendUpdateDescription(diff, disambiguate, &out);
  bson::Document described = out.Finish();
  return bson::ToJson(described);
}

std::string Json(const bson::Document& document) { return bson::ToJson(document); }

bson::Document DiffOf(std::string_view before, std::string_view after) {
  bson::Document a = TestDocument(before);
  bson::Document b = TestDocument(after);
  return Diff(a, b);
}

bson::Document DiffAtOf(std::string_view before, std::string_view after,
                        const std::set<std::string>& paths) {
  bson::Document a = TestDocument(before);
  bson::Document b = TestDocument(after);
  return DiffAt(a, b, paths);
}

TEST(Diff, SmallestDifference) {
  struct Case {
    const char* before;
    const char* after;
    const char* diff;
  };
  // Long strings make showing a value whole dearer than showing its inside.
  const Case kCases[] = {
      {"{a: 1}", "{a: 1}", "{}"},
      {"{a: 1}", "{a: 2}", R"({"u":{"a":2}})"},
      {"{a: 1, b: 1}", "{b: 1, c: 2}", R"({"d":{"a":false},"i":{"c":2}})"},
      {"{a: 1}", "{a: {$numberLong: '1'}}", R"({"u":{"a":1}})"},
      {"{s: {x: 'a long string to keep', y: 1}}", "{s: {x: 'a long string to keep', y: 2}}",
       R"({"ss":{"u":{"y":2}}})"},
      {"{s: {y: 1}}", "{s: {y: 2}}", R"({"u":{"s":{"y":2}}})"},
      {"{a: ['one long string', 2, 3]}", "{a: ['one long string']}", R"({"sa":{"a":true,"l":1}})"},
      {"{a: ['one long string', 2, 3]}", "{a: ['one long string', 5]}",
       R"({"sa":{"a":true,"l":2,"u1":5}})"},
      {"{a: 1, b: 2}", "{b: 2, a: 1}", R"({"i":{"a":1}})"},
  };
  for (const Case& c : kCases) {
    EXPECT_EQ(Json(DiffOf(c.before, c.after)), c.diff) << c.before << " -> " << c.after;
  }
}

TEST(Diff, AtTouchedPaths) {
  struct Case {
    const char* before;
    const char* after;
    std::set<std::string> paths;
    const char* described;
  };
  const Case kCases[] = {
      {"{_id: 1}", "{_id: 1, n: {x: 5}}", {"n.x"}, R"({"updatedFields":{"n":{"x":5}})"},
      {"{n: {x: 1, y: 1}}", "{n: {x: 5, y: 1}}", {"n.x"}, R"({"updatedFields":{"n.x":5})"},
      {"{n: {x: 1, y: 1}}", "{n: {x: 5, y: 1}}", {"n"}, R"({"updatedFields":{"n":{"x":5,"y":1}})"},
      {"{a: [1]}", "{a: [1, 2, 3]}", {"a"}, R"({"updatedFields":{"a.1":2,"a.2":3})"},
      {"{a: [1, 2]}", "{a: [2]}", {"a"}, R"({"updatedFields":{"a":[2]})"},
      {"{a: [{b: 1}, {b: 1}]}",
       "{a: [{b: 1}, {b: 2}]}",
       {"a.1.b"},
       R"({"updatedFields":{"a.1.b":2})"},
      {"{a: 1, b: 1}", "{b: 1}", {"a"}, R"({"updatedFields":{},"removedFields":["a"])"},
      {"{a: {b: 1, c: 1}}",
       "{a: {c: 1}}",
       {"a.b"},
       R"({"updatedFields":{},"removedFields":["a.b"])"},
      {"{a: 1, b: 1}", "{a: 1, b: 2}", {"a", "b"}, R"({"updatedFields":{"b":2})"},
      {"{a: {b: 1}}", "{a: 7}", {"a.b"}, R"({"updatedFields":{"a":7})"},
  };
  for (const Case& c : kCases) {
    std::string described = Described(DiffAtOf(c.before, c.after, c.paths));
    EXPECT_EQ(described.substr(0, std::string_view(c.described).size()), c.described)
        << c.before << " -> " << c.after;
  }
}

TEST(Diff, TruncatedArraysAndAmbiguousPaths) {
  bson::Document before = TestDocument("{a: ['one long string', 2, 3]}");
  bson::Document after = TestDocument("{a: ['one long string']}");
  EXPECT_EQ(
      Described(Diff(before, after)),
      R"({"updatedFields":{},"removedFields":[],"truncatedArrays":[{"field":"a","newSize":1}]})");
  bson::Document diff = TestDocument("{sa: {u: {'0': 1}}, sb: {a: true, u1: 2}}");
  EXPECT_EQ(Described(diff, true),
            R"({"updatedFields":{"a.0":1,"b.1":2},"removedFields":[],"truncatedArrays":[],)"
            R"("disambiguatedPaths":{"a.0":["a","0"]}})");
}

}  // namespace
}  // namespace quire::expr::update
