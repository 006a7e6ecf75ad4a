// SPDX-License-Identifier: Apache-2.0
#include "placement/shard_key.h"

#include <gtest/gtest.h>

#include "bson/hash/index_hash.h"
#include "placement/testing/maps.h"
#include "quire/error.h"

namespace quire::placement {
namespace {

std::string ParseError(std::string_view text) {
  bson::Document document = bson::TestDocument(text);
  auto pattern = ShardKeyPattern::Parse(document.view());
  EXPECT_TRUE(pattern.ok() || pattern.status().code() == kBadValue) << text;
  return pattern.ok() ? "" : pattern.status().message();
}

TEST(ShardKeyPattern, Accepts) {
  for (const char* text :
       {"{x: 1}", "{x: 1.0}", "{x: 1.5}", "{x: {$numberLong: '1'}}", "{x: 'hashed'}",
        "{a: 1, h: 'hashed', b: 1}", "{'a.0': 1}", "{'_id.a': 1}", "{'r.$id': 1}"}) {
    EXPECT_EQ(ParseError(text), "") << text;
  }
}

TEST(ShardKeyPattern, Refuses) {
  const std::pair<const char*, const char*> kShapes[] = {
      {"{}", "Shard key is empty"},
      {"{'': 1}", "Field  is empty"},
      {"{'a..b': 1}", "Field a..b contains empty parts"},
      {"{'.a': 1}", "Field .a contains empty parts"},
      {"{'a.': 1}", "Field a. contains empty parts"},
      {"{'$a': 1}", "Field $a contains parts that start with '$'"},
      {"{'a.$b': 1}", "Field a.$b contains parts that start with '$'"},
  };
  for (const auto& [text, error] : kShapes) {
    EXPECT_EQ(ParseError(text), error);
  }
  EXPECT_EQ(ParseError("{x: -1}"),
            "Shard key { x: -1 } can contain at most one 'hashed' field, and/or multiple numerical "
            "fields set to a value of 1. Failed to parse field x");
  for (const char* value : {"0", "2", "0.9", "'text'", "'2dsphere'", "''", "true", "null", "[1]",
                            "{y: 1}", "{$numberDouble: 'NaN'}"}) {
    EXPECT_NE(ParseError(std::string("{x: ") + value + "}"), "") << value;
  }
  EXPECT_NE(ParseError("{a: 'hashed', b: 'hashed'}").find("parse field b"), std::string::npos);
}

TEST(ShardKeyPattern, TakesKeysFromDocuments) {
  const ShardKeyPattern pattern = TestPattern("{a: 1, 'b.c': 1, h: 'hashed'}");
  bson::Document document = bson::TestDocument("{_id: 1, b: {c: 'x'}, h: 3}");
  auto key = pattern.KeyOf(document.view());
  ASSERT_TRUE(key.ok());
  bson::View values = key->values.view();
  EXPECT_EQ(values["a"].type(), bson::Type::kNull);
  EXPECT_EQ(values["b.c"].AsString(), "x");
  EXPECT_EQ(values["h"].AsInt64(), bson::IndexHash(bson::Value(3)));
  // A missing field is hashed as null.
  bson::Document none = bson::TestDocument("{}");
  bson::Document null = bson::TestDocument("{h: null}");
  EXPECT_EQ(*pattern.KeyOf(none.view()), *pattern.KeyOf(null.view()));
}

TEST(ShardKeyPattern, RefusesArrays) {
  const ShardKeyPattern pattern = TestPattern("{'a.0.b': 1}");
  for (const char* text : {"{a: []}", "{a: [{b: 1}]}", "{a: {'0': {b: [1]}}}", "{a: {'0': [1]}}"}) {
    bson::Document document = bson::TestDocument(text);
    auto key = pattern.KeyOf(document.view());
    ASSERT_FALSE(key.ok()) << text;
    EXPECT_EQ(key.status().code(), kShardKeyNotFound);
  }
  bson::Document named = bson::TestDocument("{a: {'0': {b: 4}}}");
  EXPECT_EQ(pattern.KeyOf(named.view())->ToString(), "{ a.0.b: 4 }");
}

TEST(ShardKey, HasMongosOrder) {
  const char* kAscending[] = {
      "{x: {$minKey: 1}}", "{x: null}", "{x: -1}",    "{x: 0.5}",  "{x: 1}",
      "{x: 'a'}",          "{x: {}}",   "{x: false}", "{x: true}", "{x: {$maxKey: 1}}"};
  for (size_t i = 0; i + 1 < std::size(kAscending); ++i) {
    EXPECT_LT(TestKey(kAscending[i]), TestKey(kAscending[i + 1]));
  }
  EXPECT_EQ(TestKey("{x: 1}"), TestKey("{x: 1.0}"));
  EXPECT_LT(TestKey("{a: 1, b: 9}"), TestKey("{a: 2, b: 1}"));
}

TEST(ShardKeyPattern, TakesBorders) {
  const ShardKeyPattern pattern = TestPattern("{a: 1, b: 1}");
  auto border = [&](std::string_view text) {
    bson::Document document = bson::TestDocument(text);
    return pattern.BorderOf(document.view());
  };
  auto extended = [&](std::string_view text) {
    bson::Document document = bson::TestDocument(text);
    auto key = pattern.ExtendBorder(document.view());
    return key.has_value() ? key->ToString() : "";
  };
  EXPECT_TRUE(border("{a: 1, b: 2}").has_value());
  EXPECT_FALSE(border("{a: 1}").has_value());
  EXPECT_FALSE(border("{b: 2, a: 1}").has_value());
  EXPECT_FALSE(border("{a: 1, b: 2, c: 3}").has_value());
  EXPECT_EQ(extended("{a: 1}"), "{ a: 1, b: MinKey }");
  EXPECT_EQ(extended("{a: {$maxKey: 1}}"), "{ a: MaxKey, b: MaxKey }");
  EXPECT_EQ(extended("{b: 1}"), "");
  EXPECT_EQ(extended("{}"), "");
}

TEST(ShardKeyPattern, KnowsWhatMayBeUnique) {
  auto allows = [](std::string_view key, std::string_view index) {
    bson::Document document = bson::TestDocument(index);
    return TestPattern(key).AllowsUnique(document.view());
  };
  EXPECT_TRUE(allows("{x: 1}", "{x: 1, y: 1}"));
  EXPECT_TRUE(allows("{x: 1}", "{_id: 1}"));
  EXPECT_TRUE(allows("{h: 'hashed'}", "{h: 1}"));
  EXPECT_FALSE(allows("{x: 1}", "{y: 1}"));
  EXPECT_FALSE(allows("{x: 1}", "{y: 1, x: 1}"));
  EXPECT_FALSE(allows("{x: 1, y: 1}", "{x: 1}"));
}

TEST(ShardKey, BordersMustBeStorable) {
  EXPECT_TRUE(CheckStorable(TestKey("{x: {$minKey: 1}}")).ok());
  bson::Document large = bson::Builder().Append("x", std::string(17'000, 'x')).Finish();
  EXPECT_EQ(CheckStorable(ShardKey::Of(large.view())).code(), kBadValue);
  // A document that reads as another value in extended JSON.
  bson::Document wrapper =
      bson::Builder().BeginDocument("x").Append("$numberInt", "5").End().Finish();
  EXPECT_EQ(CheckStorable(ShardKey::Of(wrapper.view())).code(), kBadValue);
}

}  // namespace
}  // namespace quire::placement
