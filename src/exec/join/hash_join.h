// SPDX-License-Identifier: Apache-2.0
//
// The documents of a collection by the values of one field, for $lookup without an index.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "base/memory_charge.h"
#include "bson/compare.h"
#include "exec/documents.h"
#include "exec/nested_field.h"

namespace quire::exec {

// Calls `visit` with the value at `path` and, where arrays are met on the way, with those below
// their elements: `{a: [{b: 1}, {b: 2}]}` has 1 and 2 at a.b. Missing when there is nothing.
template <typename Visit>
void VisitValues(const bson::Value& at, const FieldPath& path, size_t step, const Visit& visit) {
  if (step == path.size()) {
    visit(at);
    return;
  }
  if (at.is_document()) {
    VisitValues(at.AsDocument()[path[step]], path, step + 1, visit);
    return;
  }
  if (!at.is_array()) {
    visit(bson::Value());
    return;
  }
  for (const bson::Element& element : at.AsArray()) {
    if (element.type() == bson::Type::kDocument) {
      VisitValues(element.value().AsDocument()[path[step]], path, step + 1, visit);
    }
  }
  size_t index = 0;
  if (path[step].find_first_not_of("0123456789") == std::string::npos) {
    for (const bson::Element& element : at.AsArray()) {
      if (std::to_string(index++) == path[step]) {
        VisitValues(element.value(), path, step + 1, visit);
      }
    }
  }
}

// The same as a match on the path sees it: a last array both whole and element by element.
template <typename Visit>
void VisitPath(const bson::Value& at, const FieldPath& path, size_t step, const Visit& visit) {
  VisitValues(at, path, step, [&](const bson::Value& value) {
    visit(value);
    if (value.is_array()) {
      for (const bson::Element& element : value.AsArray()) {
        visit(element.value());
      }
    }
  });
}

class HashJoinTable {
 public:
  explicit HashJoinTable(const bson::StringCompare* strings)
      : by_value_(16, bson::ValueHash{strings}, bson::ValueEqual{strings}) {}

  // Takes every row of `input`; false when they need more memory than there is. After NotYet it is
  // called again with the same input.
  Result<bool> Fill(OpContext& op, Operator& input, const FieldPath& path);
  // Positions of the documents that match `value`, in order. Null and missing are the same.
  const std::vector<size_t>& Find(const bson::Value& value) const;
  const bson::Document& document(size_t at) const { return documents_[at]; }

 private:
  static bson::Value Key(const bson::Value& value) {
    return value.missing() ? bson::Value::Null() : value;
  }
  Documents::List documents_;
  size_t memory_ = 0;  // of them
  MemoryCharge charge_;
  std::unordered_map<bson::Value, std::vector<size_t>, bson::ValueHash, bson::ValueEqual> by_value_;
};

}  // namespace quire::exec
