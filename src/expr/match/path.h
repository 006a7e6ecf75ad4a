// SPDX-License-Identifier: Apache-2.0
//
// Dotted paths of filters and how they reach into documents and arrays.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bson/walk/field_walk.h"
#include "quire/bson.h"

namespace quire::expr::match {

// A dotted path, split once. It stays where it is: its parts are looked for by its bytes.
class Path {
 public:
  explicit Path(std::string_view dotted);
  Path(const Path&) = delete;
  Path& operator=(const Path&) = delete;

  const std::string& dotted() const { return dotted_; }
  size_t size() const { return parts_.size(); }
  const bson::FieldName& part(size_t i) const { return parts_[i].name; }
  // The part may also be an array index ("0", "12", but not "01").
  bool is_index(size_t i) const { return parts_[i].is_index; }

 private:
  struct Part {
    bson::FieldName name;
    bool is_index;
  };
  std::string dotted_;
  std::vector<Part> parts_;
};

// What a walk shows when the path ends at an array.
enum class LeafArray {
  kElementsAndWhole,  // each element, then the array itself
  kWhole,             // only the array itself
};

// Calls visit(value, outer) for every value the path reaches until it returns true; returns whether
// it did. A path that ends in nothing shows a missing value; an array in the middle whose elements
// cannot hold the rest shows nothing. `outer` names the element of the outermost array passed
// ("" when there was none).
template <typename Visit>
bool WalkPath(const Path& path, size_t from, bson::View document, LeafArray leaf,
              std::string_view outer, Visit& visit);

template <typename Visit>
bool WalkLeaf(const bson::Value& value, LeafArray leaf, std::string_view outer, Visit& visit) {
  if (leaf == LeafArray::kElementsAndWhole && value.is_array()) {
    for (const bson::Element& element : value.AsArray()) {
      if (visit(element.value(), outer.empty() ? element.name() : outer)) {
        return true;
      }
    }
  }
  return visit(value, outer);
}

template <typename Visit>
bool WalkArray(const Path& path, size_t rest, bson::View array, LeafArray leaf,
               std::string_view outer, Visit& visit) {
  bool index = path.is_index(rest);
  for (const bson::Element& element : array) {
    std::string_view outermost = outer.empty() ? element.name() : outer;
    bson::Type type = element.type();
    if (type == bson::Type::kDocument &&
        WalkPath(path, rest, element.value().AsDocument(), leaf, outermost, visit)) {
      return true;
    }
    if (!index || element.name() != path.part(rest).name()) {
      continue;
    }
    // An element named by its index is no choice among the elements: `outer` stays.
    if (rest + 1 == path.size()) {
      if (visit(element.value(), outer)) {
        return true;
      }
    } else if (type == bson::Type::kDocument) {
      if (WalkPath(path, rest + 1, element.value().AsDocument(), leaf, outer, visit)) {
        return true;
      }
    } else if (type == bson::Type::kArray) {
      if (WalkArray(path, rest + 1, element.value().AsArray(), leaf, outer, visit)) {
        return true;
      }
    }
  }
  return false;
}

template <typename Visit>
bool WalkPath(const Path& path, size_t from, bson::View document, LeafArray leaf,
              std::string_view outer, Visit& visit) {
  for (size_t i = from;; ++i) {
    bson::Value value = bson::FindValue(document, path.part(i));
    if (i + 1 == path.size()) {
      return WalkLeaf(value, leaf, outer, visit);
    }
    if (value.is_array()) {
      return WalkArray(path, i + 1, value.AsArray(), leaf, outer, visit);
    }
    if (!value.is_document()) {
      return visit(bson::Value(), outer);
    }
    document = value.AsDocument();
  }
}

}  // namespace quire::expr::match
