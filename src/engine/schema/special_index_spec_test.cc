// SPDX-License-Identifier: Apache-2.0
#include "engine/schema/special_index_spec.h"

#include <gtest/gtest.h>

#include "base/error_codes.h"

namespace quire::engine {
namespace {

bson::Document Json(std::string_view text) {
  auto document = bson::Document::FromJson(text);
  EXPECT_TRUE(document.ok()) << text;
  return document.ok() ? *document : bson::Document();
}

struct GoodRow {
  std::string_view spec;
  std::string_view key;
  std::string_view options;
};

constexpr GoodRow kGood[] = {
    {R"({"key": {"b": "text"}})", R"({"_fts":"text","_ftsx":1})",
     R"({"weights":{"b":1},"default_language":"english","language_override":"language","textIndexVersion":3})"},
    {R"({"key": {"t": "text"}, "weights": {"extra": 3}, "default_language": "fr"})",
     R"({"_fts":"text","_ftsx":1})",
     R"({"weights":{"extra":3,"t":1},"default_language":"fr","language_override":"language","textIndexVersion":3})"},
    {R"({"key": {"a": 1, "b": "text", "c": "text", "d": -1}, "weights": {"c": 5.0}})",
     R"({"a":1,"_fts":"text","_ftsx":1,"d":-1})",
     R"({"weights":{"b":1,"c":5},"default_language":"english","language_override":"language","textIndexVersion":3})"},
    {R"({"key": {"_fts": "text", "_ftsx": 1}, "weights": {"$**": 1}, "textIndexVersion": 2})",
     R"({"_fts":"text","_ftsx":1})",
     R"({"weights":{"$**":1},"default_language":"english","language_override":"language","textIndexVersion":2})"},
    {R"({"key": {"a": 1, "g": "2dsphere"}})", R"({"a":1,"g":"2dsphere"})",
     R"({"2dsphereIndexVersion":3})"},
    {R"({"key": {"g": "2d", "a": 1}})", R"({"g":"2d","a":1})", R"({})"},
    {R"({"key": {"g": "2d"}, "bits": 10, "min": -5, "max": 5})", R"({"g":"2d"})",
     R"({"bits":10,"min":-5,"max":5})"},
};

TEST(SpecialIndexSpec, IsCompleted) {
  for (const GoodRow& row : kGood) {
    SCOPED_TRACE(std::string(row.spec));
    bson::Document spec = Json(row.spec);
    auto made = NormaliseSpecialIndex(spec, false);
    ASSERT_TRUE(made.ok()) << made.status().ToString();
    ASSERT_TRUE(made->has_value());
    EXPECT_EQ(bson::ToJson((*made)->key.view()), row.key);
    EXPECT_EQ(bson::ToJson((*made)->options.view()), row.options);
  }
}

TEST(SpecialIndexSpec, PlainIndexesAreLeftAlone) {
  for (std::string_view text : {R"({"key": {"a": 1}})", R"({"key": {"a": "hashed"}})"}) {
    bson::Document spec = Json(text);
    auto made = NormaliseSpecialIndex(spec, true);
    ASSERT_TRUE(made.ok());
    EXPECT_FALSE(made->has_value());
  }
}

struct BadRow {
  std::string_view spec;
  bool collated;
  int code;
};

constexpr BadRow kBad[] = {
    {R"({"key": {"b": "text"}})", true, kCannotCreateIndex},
    {R"({"key": {"g": "2d"}})", true, kCannotCreateIndex},
    {R"({"key": {"b": "text", "g": "2dsphere"}})", false, kCannotCreateIndex},
    {R"({"key": {"b": "text", "g": "hashed"}})", false, kCannotCreateIndex},
    {R"({"key": {"a": "text", "b": 1, "c": "text"}})", false, kCannotCreateIndex},
    {R"({"key": {"_fts": "text", "_ftsx": 1}})", false, kCannotCreateIndex},
    {R"({"key": {"_fts": 1, "a": "text"}})", false, kCannotCreateIndex},
    {R"({"key": {"a": 2, "b": "text"}})", false, kCannotCreateIndex},
    {R"({"key": {"b": "text"}, "weights": 5})", false, kTypeMismatch},
    {R"({"key": {"b": "text"}, "weights": "b"})", false, kCannotCreateIndex},
    {R"({"key": {"b": "text"}, "weights": {"b": 0}})", false, kCannotCreateIndex},
    {R"({"key": {"b": "text"}, "weights": {"b": 99999}})", false, kCannotCreateIndex},
    {R"({"key": {"b": "text"}, "weights": {"b": "x"}})", false, kCannotCreateIndex},
    {R"({"key": {"b": "text"}, "weights": {"a..b": 1}})", false, kCannotCreateIndex},
    {R"({"key": {"b": "text"}, "weights": {"$a": 1}})", false, kCannotCreateIndex},
    {R"({"key": {"a": 1, "b": "text"}, "weights": {"a": 1}})", false, kCannotCreateIndex},
    {R"({"key": {"b": "text"}, "default_language": "klingon"})", false, kCannotCreateIndex},
    {R"({"key": {"b": "text"}, "language_override": "a.b"})", false, kCannotCreateIndex},
    {R"({"key": {"b": "text"}, "textIndexVersion": 4})", false, kCannotCreateIndex},
    {R"({"key": {"g": "2dsphere"}, "2dsphereIndexVersion": 0})", false, kCannotCreateIndex},
    {R"({"key": {"g": "2dsphere"}, "coarsestIndexedLevel": -1})", false, 16747},
    {R"({"key": {"g": "2dsphere"}, "finestIndexedLevel": 31})", false, 16748},
    {R"({"key": {"g": "2dsphere"}, "coarsestIndexedLevel": 24})", false, 16749},
    {R"({"key": {"g": "2d"}, "bits": 0})", false, kInvalidOptions},
    {R"({"key": {"g": "2d"}, "bits": 33})", false, kInvalidOptions},
    {R"({"key": {"g": "2d"}, "min": 5, "max": 5})", false, kInvalidOptions},
    {R"({"key": {"g": "2d", "h": "2d"}})", false, 16800},
    {R"({"key": {"a": 1, "g": "2d"}})", false, 16801},
};

TEST(SpecialIndexSpec, IsRefused) {
  for (const BadRow& row : kBad) {
    SCOPED_TRACE(std::string(row.spec));
    bson::Document spec = Json(row.spec);
    auto made = NormaliseSpecialIndex(spec, row.collated);
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.status().code(), row.code);
  }
}

}  // namespace
}  // namespace quire::engine
