// SPDX-License-Identifier: Apache-2.0
#include "expr/schema/schema.h"

#include <gtest/gtest.h>

#include "base/current_op.h"
#include "base/error_codes.h"
#include "bson/testing/kept_json.h"
#include "expr/regex.h"
#include "expr/validation/failure.h"

namespace quire::expr::schema {
namespace {

bson::View Json(std::string_view text) { return bson::KeptJson(text); }

TEST(Schema, Matches) {
  const struct {
    const char* schema;
    const char* document;
    bool matches;
  } cases[] = {
      {R"({})", R"({"a": 1})", true},
      {R"({"bsonType": "object"})", R"({})", true},
      {R"({"type": "array"})", R"({})", false},
      {R"({"required": ["a", "b"]})", R"({"a": 1})", false},
      {R"({"properties": {"a": {"bsonType": "int"}}})", R"({})", true},
      {R"({"properties": {"a": {"bsonType": "int"}}})", R"({"a": [1]})", false},
      {R"({"properties": {"a": {"type": "number"}}})", R"({"a": 1.5})", true},
      {R"({"properties": {"a": {"bsonType": ["string", "null"]}}})", R"({"a": null})", true},
      {R"({"properties": {"a": {"minimum": 5}}})", R"({"a": 5})", true},
      {R"({"properties": {"a": {"minimum": 5, "exclusiveMinimum": true}}})", R"({"a": 5})", false},
      {R"({"properties": {"a": {"maximum": 5}}})", R"({"a": "x"})", true},
      {R"({"properties": {"a": {"multipleOf": 0.1}}})", R"({"a": 0.3})", true},
      {R"({"properties": {"a": {"multipleOf": 5}}})", R"({"a": 7})", false},
      {R"({"properties": {"a": {"minLength": 2, "maxLength": 3}}})", "{\"a\": \"\xC3\xA9\"}",
       false},
      {R"({"properties": {"a": {"pattern": "b+"}}})", R"({"a": "abbc"})", true},
      {R"({"properties": {"a": {"enum": [1, {"x": 1, "y": 2}]}}})", R"({"a": {"y": 2, "x": 1}})",
       true},
      {R"({"properties": {"a": {"enum": ["x", null]}}})", R"({"a": "y"})", false},
      {R"({"properties": {"a": {"items": {"bsonType": "int"}}}})", R"({"a": [1, "x"]})", false},
      {R"({"properties": {"a": {"items": [{"bsonType": "int"}], "additionalItems": false}}})",
       R"({"a": [1, 2]})", false},
      {R"({"properties": {"a": {"items": [{"bsonType": "int"}],
           "additionalItems": {"bsonType": "string"}}}})",
       R"({"a": [1, "x"]})", true},
      {R"({"properties": {"a": {"uniqueItems": true}}})",
       R"({"a": [{"x": 1, "y": 2}, {"y": 2, "x": 1.0}]})", false},
      {R"({"properties": {"a": {"minItems": 2}}})", R"({"a": [1]})", false},
      {R"({"properties": {"a": {}}, "additionalProperties": false})", R"({"a": 1, "b": 1})", false},
      {R"({"patternProperties": {"^n": {"bsonType": "int"}}, "additionalProperties": false})",
       R"({"n1": 1})", true},
      {R"({"additionalProperties": {"bsonType": "int"}})", R"({"n1": "x"})", false},
      {R"({"minProperties": 2})", R"({"a": 1})", false},
      {R"({"dependencies": {"a": ["b", "c"]}})", R"({"a": 1, "c": 1, "b": 1})", true},
      {R"({"dependencies": {"a": {"required": ["b"]}}})", R"({"b": 1})", true},
      {R"({"dependencies": {"a": {"required": ["b"]}}})", R"({"a": 1})", false},
      {R"({"properties": {"a": {"enum": [{"x": {"y": 1, "z": [1]}}]}}})",
       R"({"a": {"x": {"z": [1], "y": 1}}})", true},
      {R"({"properties": {"a": {"enum": [{"x": {"y": 1, "z": [1]}}]}}})",
       R"({"a": {"x": {"z": [1, 2], "y": 1}}})", false},
      {R"({"properties": {"a": {"not": {"properties": {"b": {"enum": [1]}}, "required": ["b"]}}}})",
       R"({"a": {"b": 1}})", false},
      {R"({"dependencies": {"a": ["b"]}})", R"({"a": 1})", false},
      {R"({"dependencies": {"a": {"required": ["b"]}}})", R"({"c": 1})", true},
      {R"({"allOf": [{"required": ["a"]}, {"required": ["b"]}]})", R"({"a": 1})", false},
      {R"({"anyOf": [{"required": ["a"]}, {"required": ["b"]}]})", R"({"a": 1})", true},
      {R"({"oneOf": [{"required": ["a"]}, {"required": ["b"]}]})", R"({"a": 1, "b": 1})", false},
      {R"({"not": {"required": ["a"]}})", R"({"a": 1})", false},
      {R"({"title": "t", "description": "d"})", R"({})", true},
  };
  for (const auto& c : cases) {
    auto schema = Schema::Parse(Json(c.schema));
    ASSERT_TRUE(schema.ok()) << c.schema << schema.status().ToString();
    EXPECT_EQ((*schema)->Matches(bson::Value(Json(c.document))), c.matches)
        << c.schema << " on " << c.document;
  }
}

TEST(Schema, RefusesBadOnes) {
  const std::pair<const char*, int> cases[] = {
      {R"({"foo": 1})", 9},
      {R"({"$ref": "x"})", 9},
      {R"({"required": []})", 9},
      {R"({"required": [1]})", 14},
      {R"({"required": ["a", "a"]})", 9},
      {R"({"minimum": "1"})", 14},
      {R"({"exclusiveMinimum": true})", 9},
      {R"({"type": "string", "bsonType": "string"})", 9},
      {R"({"type": "integer"})", 9},
      {R"({"type": "invalid"})", 2},
      {R"({"bsonType": "text"})", 2},
      {R"({"enum": []})", 9},
      {R"({"pattern": "("})", 51091},
      {R"({"patternProperties": {"[invalid": {}}})", 2},
      {R"({"maxLength": -1})", 9},
      {R"({"multipleOf": 0})", 9},
      {R"({"allOf": [1]})", 14},
      {R"({"allOf": []})", 9},
      {R"({"items": [1]})", 14},
      {R"({"dependencies": {"a": []}})", 9},
      {R"({"title": 1})", 14},
  };
  for (const auto& [schema, code] : cases) {
    EXPECT_EQ(Schema::Parse(Json(schema)).status().code(), code) << schema;
  }
}

TEST(Schema, EndsWithItsOperation) {
  const char* schemas[] = {R"({"properties": {"a": {"items": [{"bsonType": "int"}]}}})",
                           R"({"properties": {"a": {"uniqueItems": true}}})",
                           R"({"not": {"properties": {"a": {"enum": [[1]]}}}})",
                           R"({"patternProperties": {"a": {}}, "additionalProperties": false})",
                           R"({"dependencies": {"a": ["a"]}})"};
  for (const char* spec : schemas) {
    auto schema = Schema::Parse(Json(spec));
    ASSERT_TRUE(schema.ok());
    OpContext op;
    const CurrentOpScope scope(&op);
    op.Kill();
    EXPECT_EQ(Schema::Parse(Json(spec)).status().code(), kInterrupted);
    Status error;
    const match::RegexErrorScope errors(&error);
    EXPECT_FALSE((*schema)->Matches(bson::Value(Json(R"({"a": [1, 2]})"))));
    EXPECT_EQ(error.code(), kInterrupted);
    bson::Builder out;
    out.BeginArray("details");
    (*schema)->Explain(bson::Value(Json(R"({"a": [1, 2]})")), &out);  // whatever it says
    out.End();
  }
}

TEST(Failure, NamesTheRules) {
  const std::tuple<const char*, const char*, const char*> cases[] = {
      {R"({"a": {"$gt": 5}})", R"({"_id": 1, "a": 3})",
       R"({"failingDocumentId": 1, "details": {"operatorName": "$gt",
           "specifiedAs": {"a": {"$gt": 5}}, "reason": "comparison failed",
           "consideredValue": 3}})"},
      {R"({"a": {"$exists": true}})", R"({"_id": 1})",
       R"({"failingDocumentId": 1, "details": {"operatorName": "$exists",
           "specifiedAs": {"a": {"$exists": true}}, "reason": "path does not exist"}})"},
      {R"({"a": 1, "b": 2})", R"({"_id": 1, "a": 1, "b": 3})",
       R"({"failingDocumentId": 1, "details": {"operatorName": "$and", "clausesNotSatisfied": [
           {"index": 1, "details": {"operatorName": "$eq", "specifiedAs": {"b": 2},
            "reason": "comparison failed", "consideredValue": 3}}]}})"},
      {R"({"$jsonSchema": {"required": ["a"], "properties": {"b": {"minimum": 5}}}})",
       R"({"_id": 1, "b": 3})",
       R"({"failingDocumentId": 1, "details": {"operatorName": "$jsonSchema",
           "schemaRulesNotSatisfied": [
             {"operatorName": "required", "specifiedAs": {"required": ["a"]},
              "missingProperties": ["a"]},
             {"operatorName": "properties", "propertiesNotSatisfied": [
               {"propertyName": "b", "details": [
                 {"operatorName": "minimum", "specifiedAs": {"minimum": 5},
                  "reason": "comparison failed", "consideredValue": 3}]}]}]}})"},
  };
  Context context;
  for (const auto& [validator, document, want] : cases) {
    bson::Document got = ExplainFailure(Json(validator), Json(document), &context);
    EXPECT_EQ(bson::ToJson(got), bson::ToJson(Json(want)));
  }
}

}  // namespace
}  // namespace quire::expr::schema
