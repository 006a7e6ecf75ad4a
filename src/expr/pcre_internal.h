// SPDX-License-Identifier: Apache-2.0
//
// What the query language and the expressions share of PCRE2.
#pragma once

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

namespace quire::expr {

struct FreePcre {
  void operator()(pcre2_code* code) const { pcre2_code_free(code); }
  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
  void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
};
using PcreCode = std::unique_ptr<pcre2_code, FreePcre>;
using PcreMatchData = std::unique_ptr<pcre2_match_data, FreePcre>;
using PcreMatchContext = std::unique_ptr<pcre2_match_context, FreePcre>;

// The flags to compile with for letters of "imsxu"; nothing when one is another letter.
inline std::optional<uint32_t> PcreFlags(std::string_view options) {
  uint32_t flags = PCRE2_UTF;
  for (char option : options) {
    switch (option) {
      case 'i':
        flags |= PCRE2_CASELESS;
        break;
      case 'm':
        flags |= PCRE2_MULTILINE;
        break;
      case 's':
        flags |= PCRE2_DOTALL;
        break;
      case 'x':
        flags |= PCRE2_EXTENDED;
        break;
      case 'u':
        break;
      default:
        return std::nullopt;
    }
  }
  return flags;
}

}  // namespace quire::expr
