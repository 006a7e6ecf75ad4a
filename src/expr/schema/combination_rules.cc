// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "base/try.h"
#include "expr/schema/rule_internal.h"

namespace quire::expr::schema {
namespace {

using bson::Value;

// allOf, anyOf, oneOf: all of the schemas match, at least one, exactly one.
class CombinationRule final : public Rule {
 public:
  CombinationRule(const bson::Element& keyword, std::vector<SchemaPtr> schemas)
      : keyword_(keyword), schemas_(std::move(schemas)) {}
  bool Holds(const Value& value) const override {
    auto matching = static_cast<size_t>(
        std::count_if(schemas_.begin(), schemas_.end(),
                      [&](const SchemaPtr& schema) { return schema->Matches(value); }));
    if (keyword_.name() == "allOf") {
      return matching == schemas_.size();
    }
    return keyword_.name() == "anyOf" ? matching > 0 : matching == 1;
  }
  void Explain(const Value& value, bson::Builder* out) const override {
    out->Append("operatorName", keyword_.name());
    bool none = std::none_of(schemas_.begin(), schemas_.end(),
                             [&](const SchemaPtr& schema) { return schema->Matches(value); });
    if (keyword_.name() == "oneOf" && !none) {
      out->Append("reason", "more than one subschema matched");
      out->BeginArray("matchingSchemaIndexes");
      for (size_t i = 0; i < schemas_.size(); ++i) {
        if (schemas_[i]->Matches(value)) {
          out->Push(static_cast<int32_t>(i));
        }
      }
      out->End();
      return;
    }
    out->BeginArray("schemasNotSatisfied");
    for (size_t i = 0; i < schemas_.size(); ++i) {
      if (!schemas_[i]->Matches(value)) {
        out->PushDocument().Append("index", static_cast<int32_t>(i));
        ExplainDetails(*schemas_[i], value, out);
        out->End();
      }
    }
    out->End();
  }

 private:
  bson::Element keyword_;
  std::vector<SchemaPtr> schemas_;
};

class NotRule final : public Rule {
 public:
  explicit NotRule(SchemaPtr schema) : schema_(std::move(schema)) {}
  bool Holds(const Value& value) const override { return !schema_->Matches(value); }
  void Explain(const Value&, bson::Builder* out) const override {
    out->Append("operatorName", "not").Append("reason", "child expression matched");
  }

 private:
  SchemaPtr schema_;
};

}  // namespace

Result<RulePtr> ParseCombination(const bson::Element& keyword, bson::View) {
  if (keyword.type() != bson::Type::kArray) {
    return WrongType(keyword.name(), "an array");
  }
  std::vector<SchemaPtr> schemas;
  for (const bson::Element& item : keyword.value().AsArray()) {
    ASSIGN_OR_RETURN(SchemaPtr schema, SubSchema(item, keyword.name()));
    schemas.push_back(std::move(schema));
  }
  if (schemas.empty()) {
    return Invalid(keyword.name(), "must be a non-empty array");
  }
  return RulePtr(std::make_unique<CombinationRule>(keyword, std::move(schemas)));
}

Result<RulePtr> ParseNot(const bson::Element& keyword, bson::View) {
  if (keyword.type() != bson::Type::kDocument) {
    return WrongType("not", "an object");
  }
  ASSIGN_OR_RETURN(SchemaPtr schema, SubSchema(keyword, "not"));
  return RulePtr(std::make_unique<NotRule>(std::move(schema)));
}

}  // namespace quire::expr::schema
