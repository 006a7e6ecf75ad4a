// SPDX-License-Identifier: Apache-2.0
//
// Sets of BSON types as $type and $jsonSchema name them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "quire/bson.h"
#include "quire/status.h"

namespace quire::expr::match {

class TypeSet {
 public:
  void Add(bson::Type type) { bits_ |= Bit(type); }
  // int, long, double and decimal, under the one name "number".
  void AddNumbers();
  bool Has(bson::Type type) const { return (bits_ & Bit(type)) != 0; }
  bool empty() const { return bits_ == 0; }

  // Appends what $type shows: "number", then the codes in order.
  void AppendTo(std::string_view name, bson::Builder* out) const;

  // Adds the type of one element of $type's operand: an alias, "number" or a code. BadValue when
  // there is none of that name or number.
  Status AddNamed(const bson::Value& name);

 private:
  static uint32_t Bit(bson::Type type);
  uint32_t bits_ = 0;
  bool number_name_ = false;
};

// The operand of $type or bsonType: a name, a code, or an array of those.
Result<TypeSet> ParseTypeSet(const bson::Value& spec);

// The type of that alias ("object", "int"...).
std::optional<bson::Type> TypeOfAlias(std::string_view alias);

}  // namespace quire::expr::match
