// SPDX-License-Identifier: Apache-2.0
#include "bson/path.h"

#include <gtest/gtest.h>

#include "base/error_codes.h"

namespace quire::bson {
namespace {

Document Json(const char* text) {
  Result<Document> document = Document::FromJson(text);
  EXPECT_TRUE(document.ok()) << text;
  return *std::move(document);
}

std::string Reached(const char* json, const char* path, const WalkOptions& options) {
  Document document = Json(json);
  std::string out;
  ForEachValue(document, FieldPath(path), options, [&](const Value& v) {
    out += (out.empty() ? "" : " ") + ToJson(v);
    return true;
  });
  return out;
}

TEST(FieldPath, Splits) {
  FieldPath path("a.bc..d");
  ASSERT_EQ(path.size(), 4u);
  EXPECT_EQ(path[0], "a");
  EXPECT_EQ(path[1], "bc");
  EXPECT_EQ(path[2], "");
  EXPECT_EQ(path[3], "d");
  FieldPath copy = path;
  path = FieldPath("x");
  EXPECT_EQ(copy[1], "bc");
}

TEST(FieldPath, LimitsTheNumberOfParts) {
  std::string longest = "a";
  for (int i = 1; i < 200; ++i) {
    longest += ".a";
  }
  EXPECT_TRUE(FieldPath::Parse(longest).ok());
  EXPECT_EQ(FieldPath::Parse(longest + ".a").status().code(), kOverflow);
}

TEST(Path, GetsThroughDocumentsOnly) {
  Document document = Json(R"({"a":{"b":{"c":1}},"x":[{"y":2}]})");
  EXPECT_EQ(GetPath(document, FieldPath("a.b.c")).AsInt32(), 1);
  EXPECT_TRUE(GetPath(document, FieldPath("a.b.d")).missing());
  EXPECT_TRUE(GetPath(document, FieldPath("a.b.c.d")).missing());
  EXPECT_TRUE(GetPath(document, FieldPath("x.y")).missing());
  EXPECT_TRUE(GetPath(document, FieldPath("x")).is_array());
}

TEST(Path, EntersArrays) {
  WalkOptions whole;
  WalkOptions expand{true, false};
  EXPECT_EQ(Reached(R"({"a":[{"b":1},{"b":[2,3]},4,{"c":5}]})", "a.b", whole), "1 [2,3]");
  EXPECT_EQ(Reached(R"({"a":[{"b":1},{"b":[2,3]},4,{"c":5}]})", "a.b", expand), "1 2 3");
  EXPECT_EQ(Reached(R"({"a":[[{"b":1}]]})", "a.b", whole), "");
  EXPECT_EQ(Reached(R"({"a":[[{"b":1}]]})", "a.0.b", whole), "1");
  EXPECT_EQ(Reached(R"({"a":[]})", "a", expand), "");
  EXPECT_EQ(Reached(R"({"a":[]})", "a", whole), "[]");
  EXPECT_EQ(Reached(R"({"a":[{"0":1},2]})", "a.0", whole), R"({"0":1})");
  EXPECT_EQ(Reached(R"({"a":[{"0":1},2]})", "a.0", {false, true}), R"({"0":1} 1)");
}

TEST(Path, StopsWhenTold) {
  Document document = Json(R"({"a":[{"b":1},{"b":2}]})");
  int seen = 0;
  ForEachValue(document, FieldPath("a.b"), {}, [&](const Value&) {
    ++seen;
    return false;
  });
  EXPECT_EQ(seen, 1);
}

}  // namespace
}  // namespace quire::bson
