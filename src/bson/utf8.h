// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace quire::bson {

inline constexpr uint32_t kInvalidCodePoint = 0xffffffff;

// Reads the code point at *at and moves past it. On a malformed sequence (overlong, surrogate, cut
// off, above U+10FFFF) gives kInvalidCodePoint and moves one byte. REQUIRES: *at < end.
uint32_t DecodeUtf8(const char** at, const char* end);
bool IsValidUtf8(std::string_view text);
// REQUIRES: a code point, not a surrogate.
void AppendUtf8(uint32_t code_point, std::string* out);

}  // namespace quire::bson
