// SPDX-License-Identifier: Apache-2.0
#include "bson/utf8.h"

namespace quire::bson {

uint32_t DecodeUtf8(const char** at, const char* end) {
  const char* p = *at;
  auto first = static_cast<uint8_t>(*p);
  *at = p + 1;
  if (first < 0x80) {
    return first;
  }
  int more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
  if (first < 0xc2 || first > 0xf4 || end - p <= more) {
    return kInvalidCodePoint;
  }
  uint32_t code = first & (0x3f >> more);
  for (int i = 1; i <= more; ++i) {
    auto next = static_cast<uint8_t>(p[i]);
    if ((next & 0xc0) != 0x80) {
      return kInvalidCodePoint;
    }
    code = code << 6 | (next & 0x3f);
  }
  constexpr uint32_t kLeast[] = {0, 0x80, 0x800, 0x10000};
  if (code < kLeast[more] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) {
    return kInvalidCodePoint;
  }
  *at = p + more + 1;
  return code;
}

bool IsValidUtf8(std::string_view text) {
  const char* at = text.data();
  const char* end = at + text.size();
  while (at < end) {
    if (DecodeUtf8(&at, end) == kInvalidCodePoint) {
      return false;
    }
  }
  return true;
}

void AppendUtf8(uint32_t code_point, std::string* out) {
  if (code_point < 0x80) {
    *out += static_cast<char>(code_point);
    return;
  }
  int more = code_point < 0x800 ? 1 : code_point < 0x10000 ? 2 : 3;
  constexpr uint8_t kLead[] = {0, 0xc0, 0xe0, 0xf0};
  *out += static_cast<char>(kLead[more] | (code_point >> (6 * more)));
  while (more-- > 0) {
    *out += static_cast<char>(0x80 | ((code_point >> (6 * more)) & 0x3f));
  }
}

}  // namespace quire::bson
