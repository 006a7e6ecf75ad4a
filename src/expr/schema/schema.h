// SPDX-License-Identifier: Apache-2.0
//
// $jsonSchema: JSON Schema draft 4 as MongoDB takes it, with bsonType.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "quire/bson.h"
#include "quire/status.h"

namespace quire::expr::schema {

class Rule;

// A compiled schema. Immutable and safe for concurrent use.
class Schema {
 public:
  // Errors: FailedToParse for unknown and unsupported keywords and bad values, TypeMismatch for
  // values of the wrong type, BadValue for unknown type names, and the reason when the thread's
  // operation is to end.
  static Result<std::unique_ptr<const Schema>> Parse(bson::View spec);
  // The same of a schema within one: `spec` outlives it.
  static Result<std::unique_ptr<const Schema>> ParseWithin(bson::View spec);
  ~Schema();

  // False, too, when the thread's operation is to end: the reason goes to its RegexErrorScope.
  bool Matches(const bson::Value& value) const;

  // Appends one document for each rule the value breaks to the open array of *out: the details of
  // a failed validation. REQUIRES: !Matches(value).
  void Explain(const bson::Value& value, bson::Builder* out) const;

  // "" when the schema has none.
  const std::string& title() const { return title_; }
  const std::string& description() const { return description_; }
  bson::View spec() const { return spec_; }

 private:
  friend class Parser;
  Schema();
  bson::Document owned_;  // of the outermost schema
  bson::View spec_;
  std::string title_;
  std::string description_;
  std::vector<std::unique_ptr<Rule>> rules_;
};

}  // namespace quire::expr::schema
