// SPDX-License-Identifier: Apache-2.0
//
// Languages of text search: their names, stop words and stemmers.
#pragma once

#include <string>
#include <string_view>

#include "quire/status.h"

namespace quire::expr::text {

// One row of the table of languages; lives for ever.
struct Language {
  std::string_view name;       // "english"
  std::string_view code;       // "en"; "" when there is none
  std::string_view algorithm;  // of the stemmer; "" for none
  bool apostrophe_in_words;    // "don't" is one word

  bool IsStopWord(std::string_view lower_case_word) const;
  // The stem of a word; the word itself when the language has no stemmer.
  std::string Stem(std::string_view word) const;
};

// By name or two-letter code, in any case; "none" has neither stemmer nor stop words. Error
// BadValue when there is no such language.
Result<const Language*> FindLanguage(std::string_view name);

}  // namespace quire::expr::text
