// SPDX-License-Identifier: Apache-2.0
#include "engine/read/query_shape.h"

#include <gtest/gtest.h>

namespace quire::engine {
namespace {

struct ShapeCase {
  const char* command;
  const char* shape;  // without cmdNs and command
};
const ShapeCase kShapes[] = {
    {R"({"find": "c"})", R"({"filter":{}})"},
    {R"({"find": "c", "filter": {"a": 5}, "batchSize": 3, "comment": "x"})",
     R"({"filter":{"a":{"$eq":"?number"}}})"},
    {R"({"find": "c", "filter": {"a": {"$eq": 5}}})", R"({"filter":{"a":{"$eq":"?number"}}})"},
    {R"({"find": "c", "filter": {"a": 1, "b": "x"}})",
     R"({"filter":{"$and":[{"a":{"$eq":"?number"}},{"b":{"$eq":"?string"}}]}})"},
    {R"({"find": "c", "filter": {"a": {"$in": [1, 2]}}})",
     R"({"filter":{"a":{"$in":"?array<?number>"}}})"},
    {R"({"find": "c", "filter": {"a": {"$in": [1, "x"]}}})",
     R"({"filter":{"a":{"$in":"?array<>"}}})"},
    {R"({"find": "c", "filter": {"a": {"$type": "int", "$exists": true}}})",
     R"({"filter":{"a":{"$type":["int"],"$exists":true}}})"},
    {R"({"find": "c", "filter": {"$expr": {"$gt": ["$a", 3]}}})",
     R"({"filter":{"$expr":{"$gt":["$a","?number"]}}})"},
    {R"({"find": "c", "filter": {"$jsonSchema": {"required": ["a"], "minProperties": 2}}})",
     R"({"filter":{"$jsonSchema":{"required":["a"],"minProperties":"?number"}}})"},
    {R"({"find": "c", "filter": {}, "sort": {"a": -1}, "projection": {"b": 1, "_id": false}})",
     R"({"filter":{},"sort":{"a":-1},"projection":{"b":true,"_id":false}})"},
    {R"({"distinct": "c", "key": "k", "query": {"a": {"$elemMatch": {"b": {"$gt": 1}}}}})",
     R"({"key":"k","query":{"a":{"$elemMatch":{"b":{"$gt":"?number"}}}}})"},
    {R"({"aggregate": "c", "pipeline": [{"$match": {"a": 1}}, {"$limit": 5},
                                        {"$lookup": {"from": "d", "as": "x"}}], "cursor": {}})",
     R"({"pipeline":[{"$match":{"a":{"$eq":"?number"}}},{"$limit":"?number"},)"
     R"({"$lookup":{"from":"d","as":"x"}}]})"},
};

TEST(QueryShape, ConstantsAreReplacedByTheirTypes) {
  for (const ShapeCase& c : kShapes) {
    auto command = bson::Document::FromJson(c.command);
    ASSERT_TRUE(command.ok()) << c.command;
    bson::Document shape = ShapeOfCommand(*command, "db");
    bson::Builder rest;
    for (const bson::Element& e : shape.view()) {
      if (e.name() != "cmdNs" && e.name() != "command") {
        rest.Append(e);
      }
    }
    bson::Document kept = rest.Finish();
    EXPECT_EQ(bson::ToJson(kept), c.shape) << c.command;
  }
}

TEST(QueryShape, HashTellsCollectionsApart) {
  auto command = bson::Document::FromJson(R"({"find": "c"})");
  bson::Document one = ShapeOfCommand(*command, "one");
  bson::Document two = ShapeOfCommand(*command, "two");
  EXPECT_EQ(HashOfShape(one).size(), 64U);
  EXPECT_NE(HashOfShape(one), HashOfShape(two));
}

}  // namespace
}  // namespace quire::engine
