// SPDX-License-Identifier: Apache-2.0
//
// Reading documents, and merging updates; quire/doc.h writes documents down.
#pragma once

#include <cstdint>
#include <string_view>

#include "quire/bson.h"
#include "quire/doc.h"  // IWYU pragma: export

namespace quire::patterns {

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
