// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "base/current_op.h"
#include "base/error_codes.h"
#include "base/try.h"
#include "bson/compare.h"
#include "bson/decimal.h"
#include "bson/number.h"
#include "expr/regex.h"
#include "expr/schema/rule_internal.h"
#include "expr/type_set.h"

namespace quire::expr::schema {
namespace {

using bson::Value;

// ------------------------------------------------------------------ type, bsonType
class TypeRule final : public Rule {
 public:
  TypeRule(const bson::Element& keyword, const match::TypeSet& types)
      : keyword_(keyword), types_(types) {}
  bool Holds(const Value& value) const override { return types_.Has(value.type()); }
  void Explain(const Value& value, bson::Builder* out) const override {
    ExplainSimple(keyword_, "type did not match", value, out);
    out->Append("consideredType", bson::TypeName(value.type()));
  }

 private:
  bson::Element keyword_;
  match::TypeSet types_;
};

// The six type names of JSON Schema that MongoDB knows.
Status AddJsonType(std::string_view name, match::TypeSet* types) {
  if (name == "integer") {
    return Status(kFailedToParse, "$jsonSchema type 'integer' is not currently supported.");
  }
  if (name == "number") {
    types->AddNumbers();
    return Status::Ok();
  }
  constexpr std::pair<std::string_view, bson::Type> kNames[] = {
      {"string", bson::Type::kString}, {"object", bson::Type::kDocument},
      {"array", bson::Type::kArray},   {"boolean", bson::Type::kBool},
      {"null", bson::Type::kNull},
  };
  for (const auto& [json, type] : kNames) {
    if (json == name) {
      types->Add(type);
      return Status::Ok();
    }
  }
  return Status(kBadValue, "Unknown type name alias: " + std::string(name));
}

Status AddBsonType(std::string_view name, match::TypeSet* types) {
  if (name == "integer") {
    return Status(kFailedToParse, "$jsonSchema type 'integer' is not currently supported.");
  }
  return types->AddNamed(Value(name));
}

Result<RulePtr> ParseTypes(const bson::Element& keyword,
                           Status (*add)(std::string_view, match::TypeSet*)) {
  match::TypeSet types;
  Value value = keyword.value();
  if (value.is_string()) {
    RETURN_IF_ERROR(add(value.AsString(), &types));
    return RulePtr(std::make_unique<TypeRule>(keyword, types));
  }
  if (!value.is_array()) {
    return WrongType(keyword.name(), "either a string or an array of strings");
  }
  ASSIGN_OR_RETURN(std::vector<std::string> names, UniqueStrings(keyword, keyword.name()));
  for (const std::string& name : names) {
    RETURN_IF_ERROR(add(name, &types));
  }
  return RulePtr(std::make_unique<TypeRule>(keyword, types));
}

// ------------------------------------------------------------------ enum
class EnumRule final : public Rule {
 public:
  explicit EnumRule(const bson::Element& keyword) : keyword_(keyword) {}
  bool Holds(const Value& value) const override {
    bson::View items = keyword_.value().AsArray();
    for (const bson::Element& item : items) {
      if (match::IsToEnd()) {
        return false;
      }
      if (EqualUnordered(item.value(), value)) {
        return true;
      }
    }
    return false;
  }
  void Explain(const Value& value, bson::Builder* out) const override {
    ExplainSimple(keyword_, "value was not found in enum", value, out);
  }

 private:
  bson::Element keyword_;
};

// ------------------------------------------------------------------ numbers
class LimitRule final : public Rule {
 public:
  LimitRule(const bson::Element& keyword, const bson::Element& exclusive, int sign)
      : keyword_(keyword), exclusive_(exclusive), sign_(sign) {}
  bool Holds(const Value& value) const override {
    if (!value.is_number()) {
      return true;
    }
    Value limit = keyword_.value();
    if (bson::IsNan(value) || bson::IsNan(limit)) {
      return bson::IsNan(value) && bson::IsNan(limit) && !is_exclusive();
    }
    int order = bson::CompareNumbers(value, limit) * sign_;
    return is_exclusive() ? order > 0 : order >= 0;
  }
  void Explain(const Value& value, bson::Builder* out) const override {
    out->Append("operatorName", keyword_.name());
    out->BeginDocument("specifiedAs").Append(keyword_);
    if (exclusive_.present()) {
      out->Append(exclusive_);
    }
    out->End();
    out->Append("reason", "comparison failed").Append("consideredValue", value);
  }

 private:
  bool is_exclusive() const { return exclusive_.present() && exclusive_.value().AsBool(); }
  bson::Element keyword_;
  bson::Element exclusive_;
  int sign_;  // 1: the value is not below the limit; -1: not above
};

Result<RulePtr> ParseLimit(const bson::Element& keyword, bson::View spec,
                           std::string_view exclusive_name, int sign) {
  if (!keyword.value().is_number()) {
    return WrongType(keyword.name(), "a number");
  }
  bson::Element exclusive = spec.Find(exclusive_name);
  if (exclusive.present() && exclusive.type() != bson::Type::kBool) {
    return WrongType(exclusive_name, "a boolean");
  }
  return RulePtr(std::make_unique<LimitRule>(keyword, exclusive, sign));
}

class MultipleOfRule final : public Rule {
 public:
  explicit MultipleOfRule(const bson::Element& keyword)
      : keyword_(keyword), divisor_(bson::ToDecimal(keyword.value())) {}
  bool Holds(const Value& value) const override {
    return !value.is_number() ||
           bson::decimal::IsZero(bson::decimal::Mod(bson::ToDecimal(value), divisor_));
  }
  void Explain(const Value& value, bson::Builder* out) const override {
    ExplainSimple(keyword_, "considered value is not a multiple of the specified value", value,
                  out);
  }

 private:
  bson::Element keyword_;
  bson::Decimal128 divisor_;
};

// ------------------------------------------------------------------ strings
class LengthRule final : public Rule {
 public:
  LengthRule(const bson::Element& keyword, int64_t length)
      : keyword_(keyword), length_(length), is_minimum_(keyword.name() == "minLength") {}
  bool Holds(const Value& value) const override {
    if (!value.is_string()) {
      return true;
    }
    std::string_view text = value.AsString();
    auto points =
        std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; });
    return is_minimum_ ? points >= length_ : points <= length_;
  }
  void Explain(const Value& value, bson::Builder* out) const override {
    ExplainSimple(keyword_, "specified string length was not satisfied", value, out);
  }

 private:
  bson::Element keyword_;
  int64_t length_;
  bool is_minimum_;
};

class PatternRule final : public Rule {
 public:
  PatternRule(const bson::Element& keyword, std::shared_ptr<const match::Regex> regex)
      : keyword_(keyword), regex_(std::move(regex)) {}
  bool Holds(const Value& value) const override {
    return !value.is_string() || regex_->Search(value.AsString());
  }
  void Explain(const Value& value, bson::Builder* out) const override {
    ExplainSimple(keyword_, "regular expression did not match", value, out);
  }

 private:
  bson::Element keyword_;
  std::shared_ptr<const match::Regex> regex_;
};

}  // namespace

Result<RulePtr> ParseType(const bson::Element& keyword, bson::View spec) {
  if (spec.Has("bsonType")) {
    return Status(kFailedToParse, "Cannot specify both $jsonSchema keywords 'type' and 'bsonType'");
  }
  return ParseTypes(keyword, AddJsonType);
}

Result<RulePtr> ParseBsonType(const bson::Element& keyword, bson::View spec) {
  if (spec.Has("type")) {
    return Status(kFailedToParse, "Cannot specify both $jsonSchema keywords 'type' and 'bsonType'");
  }
  return ParseTypes(keyword, AddBsonType);
}

Result<RulePtr> ParseEnum(const bson::Element& keyword, bson::View) {
  if (keyword.type() != bson::Type::kArray) {
    return WrongType("enum", "an array");
  }
  bson::View items = keyword.value().AsArray();
  if (items.empty()) {
    return Invalid("enum", "cannot be an empty array");
  }
  const bool repeats = !FirstDuplicate(items).missing();
  RETURN_IF_ERROR(CheckCurrentOpNow());
  if (repeats) {
    return Invalid("enum", "array cannot contain duplicate values.");
  }
  return RulePtr(std::make_unique<EnumRule>(keyword));
}

Result<RulePtr> ParseMinimum(const bson::Element& keyword, bson::View spec) {
  return ParseLimit(keyword, spec, "exclusiveMinimum", 1);
}

Result<RulePtr> ParseMaximum(const bson::Element& keyword, bson::View spec) {
  return ParseLimit(keyword, spec, "exclusiveMaximum", -1);
}

Result<RulePtr> ParseExclusive(const bson::Element& keyword, bson::View spec) {
  std::string_view with = keyword.name() == "exclusiveMinimum" ? "minimum" : "maximum";
  if (!spec.Has(with)) {
    return Status(kFailedToParse, "$jsonSchema keyword '" + std::string(with) +
                                      "' must be a present if " + std::string(keyword.name()) +
                                      " is present");
  }
  if (keyword.type() != bson::Type::kBool) {
    return WrongType(keyword.name(), "a boolean");
  }
  return RulePtr();
}

Result<RulePtr> ParseMultipleOf(const bson::Element& keyword, bson::View) {
  Value value = keyword.value();
  if (!value.is_number()) {
    return WrongType("multipleOf", "a number");
  }
  if (bson::IsNegative(value) || bson::IsZero(value) || !bson::IsFinite(value)) {
    return Invalid("multipleOf", "must have a positive value");
  }
  return RulePtr(std::make_unique<MultipleOfRule>(keyword));
}

Result<RulePtr> ParseLength(const bson::Element& keyword, bson::View) {
  ASSIGN_OR_RETURN(int64_t length, NonNegative(keyword));
  return RulePtr(std::make_unique<LengthRule>(keyword, length));
}

Result<RulePtr> ParsePattern(const bson::Element& keyword, bson::View) {
  if (keyword.type() != bson::Type::kString) {
    return WrongType("pattern", "a string");
  }
  ASSIGN_OR_RETURN(auto regex, match::Regex::Compile(keyword.value().AsString(), ""));
  return RulePtr(std::make_unique<PatternRule>(keyword, std::move(regex)));
}

}  // namespace quire::expr::schema
