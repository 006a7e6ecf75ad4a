// SPDX-License-Identifier: Apache-2.0
//
// What the query language and the expressions share of PCRE2.
#pragma once

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "quire/status.h"

namespace quire::expr {

struct FreePcre {
  void operator()(pcre2_code* code) const { pcre2_code_free(code); }
  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
  void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
};
using PcreCode = std::unique_ptr<pcre2_code, FreePcre>;
using PcreMatchData = std::unique_ptr<pcre2_match_data, FreePcre>;
using PcreMatchContext = std::unique_ptr<pcre2_match_context, FreePcre>;

// A compiled pattern. One match is bounded, and ends when the thread's operation is to end. Safe
// for concurrent use.
class PcrePattern {
 public:
  // Null when it is no pattern; *error is PCRE2's reason then.
  static std::unique_ptr<const PcrePattern> Compile(std::string_view pattern, uint32_t flags,
                                                    std::string* error);
  // The first match at `from` or behind it, into `data`: what pcre2_match returns,
  // PCRE2_ERROR_NOMATCH and the other errors among it. An error of its own when the operation is to
  // end. With from > 0 the text has been found to be UTF-8.
  Result<int> Match(std::string_view text, size_t from, pcre2_match_data* data) const;

  const pcre2_code* code() const { return code_.get(); }

 private:
  PcrePattern(std::string_view pattern, uint32_t flags, PcreCode code)
      : pattern_(pattern), flags_(flags), code_(std::move(code)) {}
  // The pattern with calls of ours between its parts; null when there is no room for them.
  const pcre2_code* Watched() const;
  Result<int> MatchWatched(std::string_view text, size_t from, uint32_t flags,
                           pcre2_match_data* data) const;

  const std::string pattern_;
  const uint32_t flags_;
  const PcreCode code_;
  mutable std::once_flag once_;
  mutable PcreCode watched_;  // made when first needed
};

// Why a match failed that was neither found nor not found, in the words of `op`.
Status PcreFailure(int code, std::string_view op);

// Whether a match failed because the text is not UTF-8.
inline bool IsBadUtf8(int code) {
  return code <= PCRE2_ERROR_UTF8_ERR1 && code >= PCRE2_ERROR_UTF8_ERR21;
}

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
