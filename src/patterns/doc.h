// SPDX-License-Identifier: Apache-2.0
//
// Documents written down: Doc("_id", id, "balance", Doc("$gte", amount)), List(1, 2).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "quire/bson.h"

namespace quire::patterns {

// An array on its way into a document.
struct Array {
  bson::Document elements;
};

inline void Put(bson::Builder* out, std::string_view name, const Array& value) {
  out->AppendArray(name, value.elements);
}
inline void Put(bson::Builder* out, std::string_view name, const bson::OwnedValue& value) {
  out->Append(name, value.value());
}
template <typename T>
void Put(bson::Builder* out, std::string_view name, const T& value) {
  out->Append(name, value);
}

inline void PutFields(bson::Builder*) {}
template <typename T, typename... Rest>
void PutFields(bson::Builder* out, std::string_view name, const T& value, const Rest&... rest) {
  Put(out, name, value);
  PutFields(out, rest...);
}

// Names and values in turns. A missing value leaves its field out.
template <typename... Fields>
bson::Document Doc(const Fields&... fields) {
  bson::Builder out;
  PutFields(&out, fields...);
  return out.Finish();
}

template <typename... Values>
Array List(const Values&... values) {
  bson::Builder out;
  int next = 0;
  (Put(&out, std::to_string(next++), values), ...);
  return Array{out.Finish()};
}

template <typename T>
Array ListOf(const std::vector<T>& values) {
  bson::Builder out;
  for (size_t i = 0; i < values.size(); ++i) {
    Put(&out, std::to_string(i), values[i]);
  }
  return Array{out.Finish()};
}

// The value at a dotted path of documents; missing when there is none. `document` outlives it.
bson::Value At(bson::View document, std::string_view path);
// A number of any type as an integer; 0 when it is none.
int64_t IntegerAt(bson::View document, std::string_view path);
int64_t IntegerOf(const bson::Value& value);
// The string there; "" when it is none.
std::string_view TextAt(bson::View document, std::string_view path);
// Whether `array` (any value) is an array with an element bitwise the same as `value`.
bool Holds(const bson::Value& array, const bson::Value& value);

// The operators of both updates; an operator that both have gets the fields of both.
bson::Document MergeUpdates(const bson::Document& a, const bson::Document& b);

}  // namespace quire::patterns
