// SPDX-License-Identifier: Apache-2.0
//
// Words of a text as text indexes and text queries see them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "expr/text/language.h"

namespace quire::expr::text {

struct TokenOptions {
  bool case_sensitive = false;
  bool diacritic_sensitive = false;
  bool keep_stop_words = false;
};

// The stems of the text's words, in order, without stop words. Words end at white space and
// punctuation.
std::vector<std::string> Tokenize(std::string_view utf8, const Language& language,
                                  const TokenOptions& options = {});

// The text with letters lower-cased and marks removed as the options say: what phrases are looked
// for in.
std::string Fold(std::string_view utf8, const TokenOptions& options = {});

}  // namespace quire::expr::text
