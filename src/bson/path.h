// SPDX-License-Identifier: Apache-2.0
//
// Dotted field paths and what they reach in a document.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "quire/bson.h"
#include "quire/status.h"

namespace quire::bson {

// "a.b.0" split once. Copyable; owns its text.
class FieldPath {
 public:
  static constexpr size_t kMaxParts = 200;

  FieldPath() = default;
  // REQUIRES: at most kMaxParts parts (see Parse).
  explicit FieldPath(std::string_view text);
  // Error: Overflow for more than kMaxParts parts.
  static Result<FieldPath> Parse(std::string_view text);
  // With MongoDB's rules for paths in sorts and aggregation. Errors: Overflow, 40352 (empty), 40353
  // (ends with a dot), 15998 (empty part), 16410 (part starting with '$', but for the fields of a
  // DBRef), 16411 (NUL).
  static Result<FieldPath> ParseStrict(std::string_view text);

  size_t size() const { return parts_.size(); }
  std::string_view operator[](size_t i) const {
    return std::string_view(text_).substr(parts_[i].start, parts_[i].size);
  }
  const std::string& text() const { return text_; }

 private:
  struct Part {
    uint32_t start;
    uint32_t size;
  };
  std::string text_;
  std::vector<Part> parts_;
};

// Digits only, as an array index is written ("0", "12"; "01" too).
bool IsNumericPart(std::string_view part);

// What the path names when every step is a document's field; missing else (arrays are not entered).
Value GetPath(View document, const FieldPath& path);

// Walks down from `*next` until the path ends or an array is met, and leaves in *next the first
// part not used. Missing when a field is absent or something else than a document is in the way.
Value GetPathOrArray(View document, const FieldPath& path, size_t* next);

struct WalkOptions {
  // A last value that is an array: give its elements (an empty one gives nothing) or itself.
  bool expand_last = false;
  // A numeric part at an array: beside the element at that index, also the field of that name in
  // the elements that are documents.
  bool numeric_names = false;
};

// Calls `visit` with every value the path reaches, entering the documents of arrays on the way
// (arrays directly within arrays only by index). Stops when `visit` returns false.
void ForEachValue(View document, const FieldPath& path, const WalkOptions& options,
                  const std::function<bool(const Value&)>& visit);

}  // namespace quire::bson
