// SPDX-License-Identifier: Apache-2.0
//
// Values as text and UTF-8 arithmetic for the string operators. Private to expr/agg.
#pragma once

#include <string>
#include <string_view>

#include "expr/agg/node_internal.h"

namespace quire::expr::agg {

// How the string operators read a value that is not a string: numbers, dates and timestamps by
// their text, null and missing as "". Error 16007 for the rest.
Result<std::string_view> CoerceToString(const Value& value, EvalContext& eval);

// A double as $toString writes it.
std::string DoubleText(double d);

// No string an expression makes may be larger than a document: error 16493.
Status CheckStringSize(size_t size);

inline bool IsContinuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }
// Length of the code point that starts here; 1 for a malformed byte.
size_t CodePointSize(std::string_view text, size_t at);
size_t CountCodePoints(std::string_view text);
// The byte offset of code point `index`; the size when there are fewer.
size_t CodePointOffset(std::string_view text, size_t index);

}  // namespace quire::expr::agg
