// SPDX-License-Identifier: Apache-2.0
//
// Documents and arrays written down where they are needed: names and values in turns.
//
//   auto order = quire::Doc("_id", 7, "total", 12.5, "paid", true, "note", nullptr,
//                           "lines", quire::List(quire::Doc("sku", "book", "n", 2), "gift"));
//   std::cout << quire::bson::ToJson(order) << "\n";
//   // {"_id":7,"total":12.5,"paid":true,"note":null,"lines":[{"sku":"book","n":2},"gift"]}
//   std::vector<int> ids = {3, 5};
//   auto filter = quire::Doc("_id", quire::Doc("$in", quire::ListOf(ids)));
//   std::cout << quire::bson::ToJson(filter) << "\n";  // {"_id":{"$in":[3,5]}}
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "quire/bson.h"

namespace quire {

// An array on its way into a document.
struct Array {
  bson::Document elements;
};

// Appends a field to a document under construction. Values are what bson::Builder::Append takes,
// any integer (int32 when its type is signed and fits, else int64), Array, OwnedValue, and nullptr
// for null. A missing value leaves its field out.
template <typename T>
void Put(bson::Builder* out, std::string_view name, const T& value) {
  if constexpr (std::same_as<T, Array>) {
    out->AppendArray(name, value.elements);
  } else if constexpr (std::same_as<T, bson::OwnedValue>) {
    out->Append(name, value.value());
  } else if constexpr (std::same_as<T, std::nullptr_t>) {
    out->AppendNull(name);
  } else if constexpr (std::integral<T> && !std::same_as<T, bool>) {
    using Number = std::conditional_t<std::signed_integral<T> && sizeof(T) <= sizeof(int32_t),
                                      int32_t, int64_t>;
    out->Append(name, static_cast<Number>(value));
  } else {
    out->Append(name, value);
  }
}

// The same for names and values in turns.
inline void PutFields(bson::Builder*) {}
template <typename T, typename... Rest>
void PutFields(bson::Builder* out, std::string_view name, const T& value, const Rest&... rest) {
  Put(out, name, value);
  PutFields(out, rest...);
}

// A document of names and values in turns, as Put takes them.
template <typename... Fields>
bson::Document Doc(const Fields&... fields) {
  static_assert(sizeof...(fields) % 2 == 0, "a name without a value");
  bson::Builder out;
  PutFields(&out, fields...);
  return out.Finish();
}

// An array of values of any such types.
template <typename... Values>
Array List(const Values&... values) {
  bson::Builder out;
  [[maybe_unused]] int next = 0;
  (Put(&out, std::to_string(next++), values), ...);
  return Array{out.Finish()};
}

// An array of what the vector holds.
template <typename T>
Array ListOf(const std::vector<T>& values) {
  bson::Builder out;
  for (size_t i = 0; i < values.size(); ++i) {
    Put<T>(&out, std::to_string(i), values[i]);
  }
  return Array{out.Finish()};
}

}  // namespace quire
