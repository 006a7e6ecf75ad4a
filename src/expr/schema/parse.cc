// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/current_op.h"
#include "base/error_codes.h"
#include "base/keyed_hash.h"
#include "base/try.h"
#include "bson/compare.h"
#include "bson/number.h"
#include "bson/walk/field_table.h"
#include "expr/regex.h"
#include "expr/schema/rule_internal.h"

namespace quire::expr::schema {
namespace {

// A keyword and the parser of its rule; none for those that only describe.
struct KeywordRow {
  std::string_view name;
  RuleParser parse;
};

constexpr KeywordRow kKeywords[] = {
    {"bsonType", ParseBsonType},
    {"type", ParseType},
    {"enum", ParseEnum},
    {"minimum", ParseMinimum},
    {"maximum", ParseMaximum},
    {"exclusiveMinimum", ParseExclusive},
    {"exclusiveMaximum", ParseExclusive},
    {"multipleOf", ParseMultipleOf},
    {"minLength", ParseLength},
    {"maxLength", ParseLength},
    {"pattern", ParsePattern},
    {"minItems", ParseItemCount},
    {"maxItems", ParseItemCount},
    {"uniqueItems", ParseUniqueItems},
    {"items", ParseItems},
    {"additionalItems", ParseAdditionalItems},
    {"required", ParseRequired},
    {"properties", ParseProperties},
    {"patternProperties", ParsePatternProperties},
    {"additionalProperties", ParseAdditionalProperties},
    {"minProperties", ParsePropertyCount},
    {"maxProperties", ParsePropertyCount},
    {"dependencies", ParseDependencies},
    {"allOf", ParseCombination},
    {"anyOf", ParseCombination},
    {"oneOf", ParseCombination},
    {"not", ParseNot},
    {"title", nullptr},
    {"description", nullptr},
};

constexpr std::string_view kUnsupported[] = {"$ref",        "$schema", "default",
                                             "definitions", "format",  "id"};

const KeywordRow* FindKeyword(std::string_view name) {
  for (const KeywordRow& row : kKeywords) {
    if (row.name == name) {
      return &row;
    }
  }
  return nullptr;
}

Status UnknownKeyword(std::string_view name) {
  for (std::string_view unsupported : kUnsupported) {
    if (name == unsupported) {
      return Status(kFailedToParse,
                    "$jsonSchema keyword '" + std::string(name) + "' is not currently supported");
    }
  }
  return Status(kFailedToParse, "Unknown $jsonSchema keyword: " + std::string(name));
}

}  // namespace

class Parser {
 public:
  static Result<SchemaPtr> Parse(bson::View spec, bool copies) {
    RETURN_IF_ERROR(CheckCurrentOp());
    auto schema = std::unique_ptr<Schema>(new Schema());
    if (copies) {
      schema->owned_ = bson::Document(spec);
      spec = schema->owned_;
    }
    schema->spec_ = spec;
    const bson::View own = spec;
    for (const bson::Element& element : own) {
      const KeywordRow* row = FindKeyword(element.name());
      if (row == nullptr) {
        return UnknownKeyword(element.name());
      }
      if (row->parse == nullptr) {
        RETURN_IF_ERROR(Describe(element, schema.get()));
        continue;
      }
      ASSIGN_OR_RETURN(RulePtr rule, row->parse(element, own));
      if (rule != nullptr) {
        schema->rules_.push_back(std::move(rule));
      }
    }
    return SchemaPtr(std::move(schema));
  }

 private:
  static Status Describe(const bson::Element& element, Schema* schema) {
    if (element.type() != bson::Type::kString) {
      return WrongType(element.name(), "a string");
    }
    (element.name() == "title" ? schema->title_ : schema->description_) =
        element.value().AsString();
    return Status::Ok();
  }
};

Schema::Schema() = default;
Schema::~Schema() = default;

Result<SchemaPtr> Schema::Parse(bson::View spec) { return Parser::Parse(spec, true); }
Result<SchemaPtr> Schema::ParseWithin(bson::View spec) { return Parser::Parse(spec, false); }

bool Schema::Matches(const bson::Value& value) const {
  return !match::IsToEnd() && std::all_of(rules_.begin(), rules_.end(),
                                          [&](const RulePtr& rule) { return rule->Holds(value); });
}

void Schema::Explain(const bson::Value& value, bson::Builder* out) const {
  for (const RulePtr& rule : rules_) {
    if (!rule->Holds(value)) {
      out->PushDocument();
      rule->Explain(value, out);
      out->End();
    }
  }
}

// ------------------------------------------------------------------ shared checks
Status WrongType(std::string_view keyword, std::string_view expected) {
  return Status(kTypeMismatch, "$jsonSchema keyword '" + std::string(keyword) + "' must be " +
                                   std::string(expected));
}

Status Invalid(std::string_view keyword, std::string_view why) {
  return Status(kFailedToParse,
                "$jsonSchema keyword '" + std::string(keyword) + "' " + std::string(why));
}

Result<int64_t> NonNegative(const bson::Element& keyword) {
  std::optional<int64_t> number = bson::ExactInt64(keyword.value());
  if (!number) {
    return Invalid(keyword.name(), "must be representable as a 64-bit integer");
  }
  if (*number < 0) {
    return Invalid(keyword.name(), "must be non-negative");
  }
  return *number;
}

Result<SchemaPtr> SubSchema(const bson::Element& element, std::string_view keyword) {
  if (element.type() != bson::Type::kDocument) {
    return Status(kTypeMismatch, "Nested schema for $jsonSchema keyword '" + std::string(keyword) +
                                     "' must be an object");
  }
  return Schema::ParseWithin(element.value().AsDocument());
}

Result<std::vector<std::string>> UniqueStrings(const bson::Element& array,
                                               std::string_view keyword) {
  if (array.type() != bson::Type::kArray) {
    return WrongType(keyword, "an array");
  }
  std::vector<std::string> strings;
  std::unordered_set<std::string_view, KeyedStringHash> seen;
  for (const bson::Element& item : array.value().AsArray()) {
    if (item.type() != bson::Type::kString) {
      return WrongType(keyword, "an array of strings");
    }
    RETURN_IF_ERROR(CheckCurrentOp());
    if (!seen.insert(item.value().AsString()).second) {
      return Invalid(keyword, "array cannot contain duplicate values");
    }
    strings.emplace_back(item.value().AsString());
  }
  if (strings.empty()) {
    return Invalid(keyword, "cannot be an empty array");
  }
  return strings;
}

bool EqualUnordered(const bson::Value& a, const bson::Value& b) {
  if (a.type() != b.type() || !(a.is_document() || a.is_array())) {
    return bson::Equal(a, b);
  }
  bson::View left = a.AsDocument();
  const size_t fields = left.Count();
  if (fields != b.AsDocument().Count()) {
    return false;
  }
  const bson::FieldTable right(b.AsDocument(), fields);
  return std::all_of(left.begin(), left.end(), [&](const bson::Element& element) {
    const bson::Value other = right[element.name()];
    return !other.missing() && EqualUnordered(element.value(), other);
  });
}

namespace {

// Agrees with EqualUnordered: the order of a document's fields does not count.
uint64_t HashUnordered(const bson::Value& value) {
  if (!value.is_document() && !value.is_array()) {
    return bson::Hash(value);
  }
  uint64_t hash = value.is_array();
  for (const bson::Element& element : value.AsDocument()) {
    uint64_t field =
        bson::Hash(bson::Value(element.name()), nullptr, HashUnordered(element.value()));
    hash += field;
  }
  return hash;
}

}  // namespace

bson::Value FirstDuplicate(bson::View items) {
  std::unordered_multimap<uint64_t, bson::Value> seen;
  for (const bson::Element& item : items) {
    bson::Value value = item.value();
    uint64_t hash = HashUnordered(value);
    auto [begin, end] = seen.equal_range(hash);
    auto same = [&](const auto& e) { return match::IsToEnd() || EqualUnordered(e.second, value); };
    if (match::IsToEnd() || std::any_of(begin, end, same)) {
      return value;
    }
    seen.emplace(hash, value);
  }
  return bson::Value();
}

// ------------------------------------------------------------------ shared explanations
void ExplainSpecifiedAs(const bson::Element& keyword, bson::Builder* out) {
  out->Append("operatorName", keyword.name());
  out->BeginDocument("specifiedAs").Append(keyword).End();
}

void ExplainSimple(const bson::Element& keyword, std::string_view reason, const bson::Value& value,
                   bson::Builder* out) {
  ExplainSpecifiedAs(keyword, out);
  out->Append("reason", reason);
  out->Append("consideredValue", value);
}

void ExplainDetails(const Schema& schema, const bson::Value& value, bson::Builder* out) {
  if (!schema.title().empty()) {
    out->Append("title", schema.title());
  }
  if (!schema.description().empty()) {
    out->Append("description", schema.description());
  }
  out->BeginArray("details");
  schema.Explain(value, out);
  out->End();
}

}  // namespace quire::expr::schema
