// SPDX-License-Identifier: Apache-2.0
//
// The documents of a collection by the values of one field, for $lookup without an index.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "bson/compare.h"
#include "exec/documents.h"
#include "exec/nested_field.h"

namespace quire::exec {

// Calls `visit` with the value at `path` and, where arrays are met, with those of their elements,
// as a match on the path sees them: `{a: [{b: 1}, {b: 2}]}` has 1 and 2 at a.b. A last array is
// visited both whole and element by element. Missing when there is nothing.
template <typename Visit>
void VisitPath(const bson::Value& at, const FieldPath& path, size_t step, const Visit& visit) {
  if (step == path.size()) {
    visit(at);
    if (at.is_array()) {
      for (const bson::Element& element : at.AsArray()) {
        visit(element.value());
      }
    }
    return;
  }
  if (at.is_document()) {
    VisitPath(at.AsDocument()[path[step]], path, step + 1, visit);
    return;
  }
  if (!at.is_array()) {
    visit(bson::Value());
    return;
  }
  for (const bson::Element& element : at.AsArray()) {
    if (element.type() == bson::Type::kDocument) {
      VisitPath(element.value().AsDocument()[path[step]], path, step + 1, visit);
    }
  }
  size_t index = 0;
  if (path[step].find_first_not_of("0123456789") == std::string::npos) {
    for (const bson::Element& element : at.AsArray()) {
      if (std::to_string(index++) == path[step]) {
        VisitPath(element.value(), path, step + 1, visit);
      }
    }
  }
}

class HashJoinTable {
 public:
  explicit HashJoinTable(const bson::StringCompare* strings)
      : by_value_(16, bson::ValueHash{strings}, bson::ValueEqual{strings}) {}

  // Takes every row of `input`.
  Status Fill(OpContext& op, Operator& input, const FieldPath& path);
  // Positions of the documents that equal `value`, or an element of it when it is an array, in
  // their order, each once. Null and missing are the same.
  std::vector<size_t> Find(const bson::Value& value) const;
  const bson::Document& document(size_t at) const { return documents_[at]; }

 private:
  static bson::Value Key(const bson::Value& value) {
    return value.nullish() ? bson::Value::Null() : value;
  }
  Documents::List documents_;
  std::unordered_map<bson::Value, std::vector<size_t>, bson::ValueHash, bson::ValueEqual> by_value_;
};

}  // namespace quire::exec
