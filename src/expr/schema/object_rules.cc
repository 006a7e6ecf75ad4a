// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <unordered_set>
#include <utility>

#include "base/error_codes.h"
#include "base/keyed_hash.h"
#include "base/try.h"
#include "bson/walk/field_table.h"
#include "expr/regex.h"
#include "expr/schema/rule_internal.h"

namespace quire::expr::schema {
namespace {

using bson::Value;
using RegexPtr = std::shared_ptr<const match::Regex>;

// ------------------------------------------------------------------ required
class RequiredRule final : public Rule {
 public:
  RequiredRule(const bson::Element& keyword, std::vector<std::string> names)
      : keyword_(keyword), names_(std::move(names)) {}
  bool Holds(const Value& value) const override {
    if (!value.is_document()) {
      return true;
    }
    const bson::FieldTable fields(value.AsDocument(), names_.size());
    return std::all_of(names_.begin(), names_.end(),
                       [&](const std::string& name) { return !fields[name].missing(); });
  }
  void Explain(const Value& value, bson::Builder* out) const override {
    ExplainSpecifiedAs(keyword_, out);
    out->BeginArray("missingProperties");
    const bson::FieldTable fields(value.AsDocument(), names_.size());
    for (const std::string& name : names_) {
      if (fields[name].missing()) {
        out->Push(name);
      }
    }
    out->End();
  }

 private:
  bson::Element keyword_;
  std::vector<std::string> names_;
};

// ------------------------------------------------------------------ properties
class PropertiesRule final : public Rule {
 public:
  explicit PropertiesRule(std::vector<std::pair<std::string, SchemaPtr>> properties)
      : properties_(std::move(properties)) {}
  bool Holds(const Value& value) const override {
    if (!value.is_document()) {
      return true;
    }
    const bson::FieldTable fields(value.AsDocument(), properties_.size());
    return std::all_of(properties_.begin(), properties_.end(), [&](const auto& property) {
      return Fits(property, fields[property.first]);
    });
  }
  void Explain(const Value& value, bson::Builder* out) const override {
    out->Append("operatorName", "properties");
    out->BeginArray("propertiesNotSatisfied");
    const bson::FieldTable fields(value.AsDocument(), properties_.size());
    for (const auto& property : properties_) {
      Value field = fields[property.first];
      if (!Fits(property, field)) {
        out->PushDocument();
        out->Append("propertyName", property.first);
        ExplainDetails(*property.second, field, out);
        out->End();
      }
    }
    out->End();
  }

 private:
  static bool Fits(const std::pair<std::string, SchemaPtr>& property, const Value& field) {
    return field.missing() || property.second->Matches(field);
  }
  std::vector<std::pair<std::string, SchemaPtr>> properties_;
};

// ------------------------------------------------------------------ patternProperties
struct PatternSchema {
  RegexPtr regex;
  SchemaPtr schema;
};

class PatternPropertiesRule final : public Rule {
 public:
  explicit PatternPropertiesRule(std::vector<PatternSchema> patterns)
      : patterns_(std::move(patterns)) {}
  bool Holds(const Value& value) const override {
    if (!value.is_document()) {
      return true;
    }
    bson::View document = value.AsDocument();
    return std::all_of(document.begin(), document.end(), [&](const bson::Element& field) {
      return !match::IsToEnd() &&
             std::all_of(patterns_.begin(), patterns_.end(),
                         [&](const PatternSchema& pattern) { return Fits(pattern, field); });
    });
  }
  void Explain(const Value& value, bson::Builder* out) const override {
    out->Append("operatorName", "patternProperties");
    out->BeginArray("details");
    for (const bson::Element& field : value.AsDocument()) {
      for (const PatternSchema& pattern : patterns_) {
        if (!Fits(pattern, field)) {
          out->PushDocument();
          out->Append("propertyName", field.name());
          out->Append("regexMatched", pattern.regex->pattern());
          ExplainDetails(*pattern.schema, field.value(), out);
          out->End();
        }
      }
    }
    out->End();
  }

 private:
  static bool Fits(const PatternSchema& pattern, const bson::Element& field) {
    return !pattern.regex->Search(field.name()) || pattern.schema->Matches(field.value());
  }
  std::vector<PatternSchema> patterns_;
};

Result<RegexPtr> PropertyPattern(std::string_view pattern) {
  auto regex = match::Regex::Compile(pattern, "");
  if (!regex.ok()) {
    return Status(kBadValue,
                  "Invalid regular expression in $jsonSchema keyword "
                  "'patternProperties': " +
                      regex.status().message());
  }
  return *std::move(regex);
}

// ------------------------------------------------------------------ additionalProperties
class AdditionalPropertiesRule final : public Rule {
 public:
  using Names = std::unordered_set<std::string, KeyedStringHash, std::equal_to<>>;
  // `schema` null: none are allowed.
  AdditionalPropertiesRule(const bson::Element& keyword, Names names,
                           std::vector<RegexPtr> patterns, SchemaPtr schema)
      : keyword_(keyword),
        names_(std::move(names)),
        patterns_(std::move(patterns)),
        schema_(std::move(schema)) {}
  bool Holds(const Value& value) const override {
    if (!value.is_document()) {
      return true;
    }
    bson::View document = value.AsDocument();
    return std::all_of(document.begin(), document.end(), [&](const bson::Element& field) {
      return !match::IsToEnd() && Fits(field);
    });
  }
  void Explain(const Value& value, bson::Builder* out) const override {
    if (schema_ == nullptr) {
      ExplainSpecifiedAs(keyword_, out);
      out->BeginArray("additionalProperties");
    } else {
      out->Append("operatorName", "additionalProperties");
      out->Append("reason", "at least one additional property did not match the subschema");
    }
    for (const bson::Element& field : value.AsDocument()) {
      if (Fits(field)) {
        continue;
      }
      if (schema_ != nullptr) {
        out->Append("failingProperty", field.name());
        ExplainDetails(*schema_, field.value(), out);
        return;
      }
      out->Push(field.name());
    }
    out->End();
  }

 private:
  bool Fits(const bson::Element& field) const {
    if (names_.contains(field.name()) ||
        std::any_of(patterns_.begin(), patterns_.end(),
                    [&](const RegexPtr& regex) { return regex->Search(field.name()); })) {
      return true;
    }
    return schema_ != nullptr && schema_->Matches(field.value());
  }
  bson::Element keyword_;
  Names names_;
  std::vector<RegexPtr> patterns_;
  SchemaPtr schema_;
};

// ------------------------------------------------------------------ minProperties, maxProperties
class PropertyCountRule final : public Rule {
 public:
  PropertyCountRule(const bson::Element& keyword, int64_t count)
      : keyword_(keyword), count_(count), is_minimum_(keyword.name() == "minProperties") {}
  bool Holds(const Value& value) const override {
    if (!value.is_document()) {
      return true;
    }
    auto fields = static_cast<int64_t>(value.AsDocument().Count());
    return is_minimum_ ? fields >= count_ : fields <= count_;
  }
  void Explain(const Value& value, bson::Builder* out) const override {
    ExplainSpecifiedAs(keyword_, out);
    out->Append("reason", "specified number of properties was not satisfied");
    out->Append("numberOfProperties", static_cast<int32_t>(value.AsDocument().Count()));
  }

 private:
  bson::Element keyword_;
  int64_t count_;
  bool is_minimum_;
};

// ------------------------------------------------------------------ dependencies
struct Dependency {
  std::string property;
  std::vector<std::string> names;  // properties it needs, or
  SchemaPtr schema;                // the schema the whole object must then match
};

class DependenciesRule final : public Rule {
 public:
  explicit DependenciesRule(std::vector<Dependency> dependencies)
      : dependencies_(std::move(dependencies)), size_(dependencies_.size()) {
    for (const Dependency& dependency : dependencies_) {
      size_ += dependency.names.size();
    }
  }
  bool Holds(const Value& value) const override {
    if (!value.is_document()) {
      return true;
    }
    const bson::FieldTable fields(value.AsDocument(), size_);
    return std::all_of(dependencies_.begin(), dependencies_.end(), [&](const Dependency& d) {
      return !match::IsToEnd() && Fits(d, value, fields);
    });
  }
  void Explain(const Value& value, bson::Builder* out) const override {
    out->Append("operatorName", "dependencies");
    out->BeginArray("failingDependencies");
    const bson::FieldTable fields(value.AsDocument(), size_);
    for (const Dependency& dependency : dependencies_) {
      if (Fits(dependency, value, fields)) {
        continue;
      }
      out->PushDocument();
      out->Append("conditionalProperty", dependency.property);
      ExplainOne(dependency, value, fields, out);
      out->End();
    }
    out->End();
  }

 private:
  static bool Fits(const Dependency& dependency, const Value& value,
                   const bson::FieldTable& fields) {
    if (fields[dependency.property].missing()) {
      return true;
    }
    if (dependency.schema != nullptr) {
      return dependency.schema->Matches(value);
    }
    return std::all_of(dependency.names.begin(), dependency.names.end(),
                       [&](const std::string& name) { return !fields[name].missing(); });
  }
  static void ExplainOne(const Dependency& dependency, const Value& value,
                         const bson::FieldTable& fields, bson::Builder* out) {
    if (dependency.schema != nullptr) {
      ExplainDetails(*dependency.schema, value, out);
      return;
    }
    out->BeginArray("missingProperties");
    for (const std::string& name : dependency.names) {
      if (fields[name].missing()) {
        out->Push(name);
      }
    }
    out->End();
  }
  std::vector<Dependency> dependencies_;
  size_t size_;  // properties they name
};

}  // namespace

Result<RulePtr> ParseRequired(const bson::Element& keyword, bson::View) {
  ASSIGN_OR_RETURN(std::vector<std::string> names, UniqueStrings(keyword, "required"));
  return RulePtr(std::make_unique<RequiredRule>(keyword, std::move(names)));
}

Result<RulePtr> ParseProperties(const bson::Element& keyword, bson::View) {
  if (keyword.type() != bson::Type::kDocument) {
    return WrongType("properties", "an object");
  }
  std::vector<std::pair<std::string, SchemaPtr>> properties;
  for (const bson::Element& property : keyword.value().AsDocument()) {
    ASSIGN_OR_RETURN(SchemaPtr schema, SubSchema(property, "properties"));
    properties.emplace_back(property.name(), std::move(schema));
  }
  return RulePtr(std::make_unique<PropertiesRule>(std::move(properties)));
}

Result<RulePtr> ParsePatternProperties(const bson::Element& keyword, bson::View) {
  if (keyword.type() != bson::Type::kDocument) {
    return WrongType("patternProperties", "an object");
  }
  std::vector<PatternSchema> patterns;
  for (const bson::Element& property : keyword.value().AsDocument()) {
    PatternSchema pattern;
    ASSIGN_OR_RETURN(pattern.regex, PropertyPattern(property.name()));
    ASSIGN_OR_RETURN(pattern.schema, SubSchema(property, "patternProperties"));
    patterns.push_back(std::move(pattern));
  }
  return RulePtr(std::make_unique<PatternPropertiesRule>(std::move(patterns)));
}

Result<RulePtr> ParseAdditionalProperties(const bson::Element& keyword, bson::View spec) {
  SchemaPtr schema;
  if (keyword.type() == bson::Type::kDocument) {
    ASSIGN_OR_RETURN(schema, SubSchema(keyword, "additionalProperties"));
  } else if (keyword.type() != bson::Type::kBool) {
    return WrongType("additionalProperties", "an object or a boolean");
  } else if (keyword.value().AsBool()) {
    return RulePtr();
  }
  AdditionalPropertiesRule::Names names;
  if (Value properties = spec["properties"]; properties.is_document()) {
    for (const bson::Element& property : properties.AsDocument()) {
      names.emplace(property.name());
    }
  }
  std::vector<RegexPtr> patterns;
  if (Value properties = spec["patternProperties"]; properties.is_document()) {
    for (const bson::Element& property : properties.AsDocument()) {
      ASSIGN_OR_RETURN(RegexPtr regex, PropertyPattern(property.name()));
      patterns.push_back(std::move(regex));
    }
  }
  return RulePtr(std::make_unique<AdditionalPropertiesRule>(
      keyword, std::move(names), std::move(patterns), std::move(schema)));
}

Result<RulePtr> ParsePropertyCount(const bson::Element& keyword, bson::View) {
  ASSIGN_OR_RETURN(int64_t count, NonNegative(keyword));
  return RulePtr(std::make_unique<PropertyCountRule>(keyword, count));
}

Result<RulePtr> ParseDependencies(const bson::Element& keyword, bson::View) {
  if (keyword.type() != bson::Type::kDocument) {
    return WrongType("dependencies", "an object");
  }
  std::vector<Dependency> dependencies;
  for (const bson::Element& element : keyword.value().AsDocument()) {
    Dependency dependency;
    dependency.property = element.name();
    if (element.type() == bson::Type::kDocument) {
      ASSIGN_OR_RETURN(dependency.schema, SubSchema(element, "dependencies"));
    } else {
      ASSIGN_OR_RETURN(dependency.names, UniqueStrings(element, "dependencies"));
    }
    dependencies.push_back(std::move(dependency));
  }
  return RulePtr(std::make_unique<DependenciesRule>(std::move(dependencies)));
}

}  // namespace quire::expr::schema
