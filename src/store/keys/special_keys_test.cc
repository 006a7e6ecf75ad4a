// SPDX-License-Identifier: Apache-2.0
#include "store/keys/special_keys.h"

#include <gtest/gtest.h>

#include "store/keys/index_keys.h"
#include "store/keys/index_kind.h"

namespace quire::store {
namespace {

bson::Document Json(std::string_view text) {
  auto document = bson::Document::FromJson(text);
  EXPECT_TRUE(document.ok()) << text;
  return document.ok() ? *document : bson::Document();
}

IndexKeySpec SpecOf(std::string_view index) {
  bson::Document spec = Json(index);
  IndexKeySpec keys = IndexKeySpec::FromPattern(spec["key"].AsDocument());
  keys.special = SpecialSpecOf(spec);
  return keys;
}

struct Row {
  std::string_view index;
  std::string_view document;
  int code;     // 0: no error
  size_t keys;  // how many
  bool multikey;
};

constexpr std::string_view kText = R"({"key": {"_fts": "text", "_ftsx": 1}, "weights": {"t": 1}})";
constexpr std::string_view kPrefixed =
    R"({"key": {"a": 1, "_fts": "text", "_ftsx": 1}, "weights": {"t": 1}})";
constexpr std::string_view kSphere = R"({"key": {"g": "2dsphere"}})";
constexpr std::string_view kBeside = R"({"key": {"a": 1, "g": "2dsphere"}})";
constexpr std::string_view kFlat = R"({"key": {"g": "2d"}})";
constexpr std::string_view kWide = R"({"key": {"g": "2d", "b": 1}, "min": -500, "max": 500})";

constexpr Row kRows[] = {
    {kText, R"({"t": "coffee cakes and coffee"})", 0, 2, true},
    {kText, R"({"t": "the"})", 0, 0, false},
    {kText, R"({"u": "coffee"})", 0, 0, false},
    {kText, R"({"t": "hola", "language": "klingon"})", 17262, 0, false},
    {kText, R"({"t": "hola", "language": 5})", 17261, 0, false},
    {kPrefixed, R"({"a": 1, "t": "coffee"})", 0, 1, false},
    {kPrefixed, R"({"t": "coffee"})", 0, 1, false},
    {kPrefixed, R"({"a": [1, 2], "t": "coffee"})", 16675, 0, false},
    {kPrefixed, R"({"a": [1, 2]})", 0, 0, false},
    {kSphere, R"({"g": [10, 20]})", 0, 1, false},
    {kSphere, R"({"g": {"type": "Point", "coordinates": [10, 20]}})", 0, 1, false},
    {kSphere, R"({"g": {"type": "MultiPoint", "coordinates": [[10, 20], [40, 2]]}})", 0, 2, true},
    {kSphere, R"({"g": null})", 0, 0, false},
    {kSphere, R"({"g": []})", 0, 0, false},
    {kSphere, R"({"g": {}})", 0, 0, false},
    {kSphere, R"({"a": 1})", 0, 0, false},
    {kSphere, R"({"g": "here"})", 16755, 0, false},
    {kSphere, R"({"g": [200, 20]})", 16755, 0, false},
    {kSphere, R"({"g": [{"type": "Point", "coordinates": [10, 20]}]})", 16755, 0, false},
    {kBeside, R"({"a": [1, 2], "g": [10, 20]})", 0, 2, true},
    {kBeside, R"({"g": [10, 20]})", 0, 1, false},
    {kBeside, R"({"a": 5})", 0, 0, false},
    {kFlat, R"({"g": [10, 20]})", 0, 1, false},
    {kFlat, R"({"g": {"x": 10, "y": 20}})", 0, 1, false},
    {kFlat, R"({"g": [[10, 20], [30, 40]]})", 0, 2, true},
    {kFlat, R"({"g": [{"x": 10, "y": 20}, {"x": 1, "y": 2}]})", 0, 2, true},
    {kFlat, R"({"g": [180, -180]})", 0, 1, false},
    {kFlat, R"({"g": [181, 0]})", 13027, 0, false},
    {kFlat, R"({"g": [10]})", 13068, 0, false},
    {kFlat, R"({"g": [10, "x"]})", 13026, 0, false},
    {kFlat, R"({"g": {"type": "Point", "coordinates": [1, 2]}})", 16804, 0, false},
    {kFlat, R"({"g": 5})", 0, 0, false},
    {kFlat, R"({})", 0, 0, false},
    {kWide, R"({"g": [400, 20], "b": [1, 2]})", 0, 1, false},
    {kWide, R"({"g": [501, 20]})", 13027, 0, false},
};

TEST(SpecialKeys, Rows) {
  for (const Row& row : kRows) {
    SCOPED_TRACE(std::string(row.index) + " " + std::string(row.document));
    IndexKeySpec spec = SpecOf(row.index);
    IndexKeySet keys;
    bson::Document document = Json(row.document);
    Status status = IndexKeys(spec, document, &keys);
    EXPECT_EQ(status.ok() ? 0 : status.code(), row.code) << status.ToString();
    if (status.ok()) {
      EXPECT_EQ(keys.keys.size(), row.keys);
      EXPECT_EQ(keys.multikey_steps != 0, row.multikey);
    }
  }
}

TEST(SpecialKeys, TermsAndScoresCanBeReadBack) {
  IndexKeySpec spec = SpecOf(kPrefixed);
  IndexKeySet keys;
  bson::Document document = Json(R"({"a": 7, "t": "running dogs"})");
  ASSERT_TRUE(IndexKeys(spec, document, &keys).ok());
  ASSERT_EQ(keys.keys.size(), 2u);
  bson::Document key = DecodeKey(spec, keys.keys[1].bytes, keys.keys[1].type_bits);
  EXPECT_EQ(bson::ToJson(key.view()), R"({"a":7,"_fts":"run","_ftsx":0.75})");
}

TEST(IndexKinds, FactsFitTogether) {
  for (const IndexKindRow* row : IndexKinds()) {
    SCOPED_TRACE(row->name);
    const bool made = row->holds == PartHolds::kMade;
    EXPECT_EQ(row->keys != nullptr, made);
    EXPECT_EQ(row->normalise != nullptr, made);
    EXPECT_TRUE(row->cells == nullptr || made);
    EXPECT_EQ(FindIndexKind(row->name), row->name.empty() ? nullptr : row);
  }
  EXPECT_EQ(FindIndexKind("wildcard"), nullptr);
}

TEST(SpecialKeys, LongTermsStayApart) {
  std::string a(300, 'x');
  std::string b = a + "y";
  EXPECT_EQ(IndexedTerm(a).size(), 240u);
  EXPECT_NE(IndexedTerm(a), IndexedTerm(b));
  EXPECT_EQ(IndexedTerm("short"), "short");
}

TEST(SpecialKeys, TextDependsOnItsFieldsAndLanguages) {
  bson::Document two =
      Json(R"({"key": {"_fts": "text", "_ftsx": 1}, "weights": {"a.b": 1, "t": 2}})");
  auto spec = SpecialSpecOf(two);
  for (std::string_view path : {"a", "a.b", "a.0.b", "t", "language", "x.language"}) {
    EXPECT_TRUE(kTextKind.depends_on(*spec, path)) << path;
  }
  EXPECT_FALSE(kTextKind.depends_on(*spec, "c"));
  bson::Document wildcard = Json(R"({"key": {"_fts": "text", "_ftsx": 1}, "weights": {"$**": 1}})");
  auto all = SpecialSpecOf(wildcard);
  EXPECT_TRUE(kTextKind.depends_on(*all, "c"));
}

}  // namespace
}  // namespace quire::store
