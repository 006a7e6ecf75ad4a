// SPDX-License-Identifier: Apache-2.0
//
// The fields of a document by name, for those who look for many of them: a look for each through
// the document would take the product of the two numbers.
#pragma once

#include <string_view>
#include <unordered_map>

#include "base/keyed_hash.h"
#include "quire/bson.h"

namespace quire::bson {

// The document outlives it unchanged.
class FieldTable {
 public:
  // `names`: about how many will be looked for. A few are looked for in the document itself.
  FieldTable(View document, size_t names) : document_(document) {
    constexpr size_t kMany = 16;
    if (names > kMany) {
      for (const Element& field : document) {
        fields_.emplace(field.name(), field.value());  // the first of a name counts
      }
    }
  }

  // Missing when there is none.
  Value operator[](std::string_view name) const {
    if (fields_.empty()) {
      return document_[name];
    }
    auto it = fields_.find(name);
    return it == fields_.end() ? Value() : it->second;
  }

 private:
  View document_;
  std::unordered_map<std::string_view, Value, KeyedStringHash> fields_;
};

}  // namespace quire::bson
