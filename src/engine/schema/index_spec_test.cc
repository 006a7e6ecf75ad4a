// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "bson/testing/json.h"
#include "engine/schema/schema.h"

namespace quire::engine {
namespace {

struct SpecCase {
  const char* spec;
  int code;            // 0: accepted
  const char* normal;  // as listIndexes shows it
};

const SpecCase kSpecs[] = {
    {R"({"key": {"a": 1}, "name": "x"})", 0, R"({"v": 2, "key": {"a": 1}, "name": "x"})"},
    {R"({"key": {"a": 1}, "name": "x", "v": 1})", 0, R"({"v": 1, "key": {"a": 1}, "name": "x"})"},
    {R"({"key": {"a": 1}, "name": "x", "unique": 1, "sparse": false})", 0,
     R"({"v": 2, "key": {"a": 1}, "name": "x", "unique": true})"},
    {R"({"key": {"a": 1}, "name": "x", "expireAfterSeconds": 3.7})", 0,
     R"({"v": 2, "key": {"a": 1}, "name": "x", "expireAfterSeconds": 3})"},
    {R"({"key": {"_id": 1}, "name": "mine"})", 0, R"({"v": 2, "key": {"_id": 1}, "name": "_id_"})"},
    {R"({"key": {"a.$id": 1}, "name": "x"})", 0, R"({"v": 2, "key": {"a.$id": 1}, "name": "x"})"},
    {R"({"key": {"a": 1}, "name": "x", "partialFilterExpression": {"b": {"$exists": true}}})", 0,
     R"({"v": 2, "key": {"a": 1}, "name": "x",
         "partialFilterExpression": {"b": {"$exists": true}}})"},
    {R"({"key": {"b": 1, "$**": -1}, "name": "x", "wildcardProjection": {"b": 0}})", 0,
     R"({"v": 2, "key": {"b": 1, "$**": -1}, "name": "x", "wildcardProjection": {"b": 0}})"},
    {R"({"key": {"b": 1, "c.$**": 1}, "name": "x"})", 0,
     R"({"v": 2, "key": {"b": 1, "c.$**": 1}, "name": "x"})"},
    // Keys.
    {R"({"key": {}, "name": "x"})", 67, ""},
    {R"({"key": {"": 1}, "name": "x"})", 67, ""},
    {R"({"key": {"a..b": 1}, "name": "x"})", 67, ""},
    {R"({"key": {"$id": 1}, "name": "x"})", 67, ""},
    {R"({"key": {"a": 0}, "name": "x"})", 67, ""},
    {R"({"key": {"a": true}, "name": "x"})", 67, ""},
    {R"({"key": {"a": "b"}, "name": "x"})", 67, ""},
    {R"({"key": {"a": "wildcard"}, "name": "x"})", 7246202, ""},
    {R"({"key": {"a": "hashed", "b": "hashed"}, "name": "x"})", 31303, ""},
    {R"({"key": {"_id": -1}, "name": "x"})", 2, ""},
    {R"({"key": {"a": 1, "a": -1}, "name": "x"})", 2, ""},
    // Names and versions.
    {R"({"key": {"a": 1}})", 9, ""},
    {R"({"name": "x"})", 9, ""},
    {R"({"key": {"a": 1}, "name": ""})", 67, ""},
    {R"({"key": {"a": 1}, "name": "*"})", 2, ""},
    {R"({"key": {"a": 1}, "name": "_id_"})", 2, ""},
    {R"({"key": {"a": 1}, "name": "x", "v": 3})", 67, ""},
    {R"({"key": {"a": 1}, "name": "x", "v": 1.5})", 2, ""},
    {R"({"key": {"a": 1}, "name": "x", "v": "2"})", 14, ""},
    // Options.
    {R"({"key": {"a": 1}, "name": "x", "what": 1})", 197, ""},
    {R"({"key": {"a": 1}, "name": "x", "hidden": 1})", 14, ""},
    {R"({"key": {"_id": 1}, "name": "x", "sparse": true})", 197, ""},
    {R"({"key": {"a": "hashed"}, "name": "x", "unique": true})", 16764, ""},
    {R"({"key": {"a": 1}, "name": "x", "weights": {"a": 1}})", 67, ""},
    {R"({"key": {"a": 1}, "name": "x", "collation": {}})", 2, ""},
    {R"({"key": {"a": 1}, "name": "x", "expireAfterSeconds": -1})", 67, ""},
    {R"({"key": {"a": 1, "b": 1}, "name": "x", "expireAfterSeconds": 1})", 67, ""},
    {R"({"key": {"a": 1}, "name": "x", "expireAfterSeconds": "1"})", 67, ""},
    {R"({"key": {"a": 1}, "name": "x", "sparse": true, "partialFilterExpression": {"a": 1}})", 67,
     ""},
    {R"({"key": {"a": 1}, "name": "x", "partialFilterExpression": {"a": {"$ne": 1}}})", 67, ""},
    {R"({"key": {"a": 1}, "name": "x", "partialFilterExpression": {"a": {"$exists": false}}})", 67,
     ""},
    {R"({"key": {"a": 1}, "name": "x", "partialFilterExpression": {"$expr": true}})", 224, ""},
    {R"({"key": {"a": 1}, "name": "x", "partialFilterExpression": {"$text": {"$search": "a"}}})", 2,
     ""},
    // Wildcards.
    {R"({"key": {"$**": 1}, "name": "x", "unique": true})", 67, ""},
    {R"({"key": {"$**": 1}, "name": "x", "sparse": true})", 67, ""},
    {R"({"key": {"$**": 1}, "name": "x", "expireAfterSeconds": 1})", 67, ""},
    {R"({"key": {"$**": 1}, "name": "x", "v": 1})", 67, ""},
    {R"({"key": {"$**": "hashed"}, "name": "x"})", 67, ""},
    {R"({"key": {"$**.a": 1}, "name": "x"})", 67, ""},
    {R"({"key": {"a.$**.$**": 1}, "name": "x"})", 67, ""},
    {R"({"key": {"$**": 1, "a": 1}, "name": "x"})", 67, ""},
    {R"({"key": {"$**": 1, "a.$**": 1}, "name": "x"})", 7246201, ""},
    {R"({"key": {"a": 1}, "name": "x", "wildcardProjection": {"a": 1}})", 2, ""},
    {R"({"key": {"$**": 1}, "name": "x", "wildcardProjection": {}})", 9, ""},
    {R"({"key": {"a.$**": 1}, "name": "x", "wildcardProjection": {"a": 1}})", 9, ""},
    {R"({"key": {"$**": 1}, "name": "x", "wildcardProjection": {"a": 1, "b": 0}})", 31254, ""},
    {R"({"key": {"$**": 1}, "name": "x", "wildcardProjection": {"a": 1, "a.b": 0}})", 31249, ""},
    {R"({"key": {"$**": 1}, "name": "x", "wildcardProjection": {"a": "b"}})", 51271, ""},
    {R"({"key": {"b": 1, "$**": 1}, "name": "x", "wildcardProjection": {"a": 0}})", 7246209, ""},
};

TEST(IndexSpecTest, SpecsAreCheckedAndCompleted) {
  for (const SpecCase& c : kSpecs) {
    bson::Document spec = bson::TestDocument(c.spec);
    Result<bson::Document> normal = NormaliseIndexSpec(spec, nullptr);
    EXPECT_EQ(normal.status().code(), c.code) << c.spec << " " << normal.status().ToString();
    if (normal.ok() && c.code == 0) {
      bson::Document wanted = bson::TestDocument(c.normal);
      EXPECT_EQ(bson::ToJson(*normal), bson::ToJson(wanted));
    }
  }
}

}  // namespace
}  // namespace quire::engine
