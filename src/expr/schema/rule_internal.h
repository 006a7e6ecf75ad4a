// SPDX-License-Identifier: Apache-2.0
//
// Rules of a schema: what one keyword (or a few that belong together) demands. Private to
// expr/schema.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "expr/schema/schema.h"

namespace quire::expr::schema {

class Rule {
 public:
  virtual ~Rule() = default;
  virtual bool Holds(const bson::Value& value) const = 0;
  // Appends the fields of the failure's document. REQUIRES: !Holds(value).
  virtual void Explain(const bson::Value& value, bson::Builder* out) const = 0;
};
using RulePtr = std::unique_ptr<Rule>;
using SchemaPtr = std::unique_ptr<const Schema>;

// Makes the rule(s) of `keyword`, which stands in `spec`. A null rule: the keyword demands nothing
// by itself (it is read with another one).
using RuleParser = Result<RulePtr> (*)(const bson::Element& keyword, bson::View spec);

// values
Result<RulePtr> ParseType(const bson::Element& keyword, bson::View spec);
Result<RulePtr> ParseBsonType(const bson::Element& keyword, bson::View spec);
Result<RulePtr> ParseEnum(const bson::Element& keyword, bson::View spec);
Result<RulePtr> ParseMinimum(const bson::Element& keyword, bson::View spec);
Result<RulePtr> ParseMaximum(const bson::Element& keyword, bson::View spec);
Result<RulePtr> ParseExclusive(const bson::Element& keyword, bson::View spec);
Result<RulePtr> ParseMultipleOf(const bson::Element& keyword, bson::View spec);
Result<RulePtr> ParseLength(const bson::Element& keyword, bson::View spec);
Result<RulePtr> ParsePattern(const bson::Element& keyword, bson::View spec);
// arrays
Result<RulePtr> ParseItemCount(const bson::Element& keyword, bson::View spec);
Result<RulePtr> ParseUniqueItems(const bson::Element& keyword, bson::View spec);
Result<RulePtr> ParseItems(const bson::Element& keyword, bson::View spec);
Result<RulePtr> ParseAdditionalItems(const bson::Element& keyword, bson::View spec);
// objects
Result<RulePtr> ParseRequired(const bson::Element& keyword, bson::View spec);
Result<RulePtr> ParseProperties(const bson::Element& keyword, bson::View spec);
Result<RulePtr> ParsePatternProperties(const bson::Element& keyword, bson::View spec);
Result<RulePtr> ParseAdditionalProperties(const bson::Element& keyword, bson::View spec);
Result<RulePtr> ParsePropertyCount(const bson::Element& keyword, bson::View spec);
Result<RulePtr> ParseDependencies(const bson::Element& keyword, bson::View spec);
// combinations
Result<RulePtr> ParseCombination(const bson::Element& keyword, bson::View spec);
Result<RulePtr> ParseNot(const bson::Element& keyword, bson::View spec);

// Checks shared by the parsers, each naming the keyword in its error.
Result<int64_t> NonNegative(const bson::Element& keyword);
Result<SchemaPtr> SubSchema(const bson::Element& element, std::string_view keyword);
Result<std::vector<std::string>> UniqueStrings(const bson::Element& array,
                                               std::string_view keyword);
Status WrongType(std::string_view keyword, std::string_view expected);
Status Invalid(std::string_view keyword, std::string_view why);

// Values are equal whatever the order of fields in documents.
bool EqualUnordered(const bson::Value& a, const bson::Value& b);
// The first item equal in that sense to one before it, or where the thread's operation was to end;
// missing when there is none.
bson::Value FirstDuplicate(bson::View items);

// The start of most explanations: operatorName, specifiedAs {name: value}, reason, consideredValue.
void ExplainSimple(const bson::Element& keyword, std::string_view reason, const bson::Value& value,
                   bson::Builder* out);
void ExplainSpecifiedAs(const bson::Element& keyword, bson::Builder* out);
// details: [...] of a sub-schema.
void ExplainDetails(const Schema& schema, const bson::Value& value, bson::Builder* out);

}  // namespace quire::expr::schema
