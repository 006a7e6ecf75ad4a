// SPDX-License-Identifier: Apache-2.0
#include "expr/text/tokenizer.h"

#include <unicode/locid.h>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>
#include <unicode/utf8.h>

#include <algorithm>

namespace quire::expr::text {
namespace {

constexpr UProperty kDelimiterProperties[] = {UCHAR_WHITE_SPACE,    UCHAR_DASH,
                                              UCHAR_HYPHEN,         UCHAR_PATTERN_SYNTAX,
                                              UCHAR_QUOTATION_MARK, UCHAR_TERMINAL_PUNCTUATION};

bool IsDelimiter(UChar32 c, const Language& language) {
  if (c == '\'' && language.apostrophe_in_words) {
    return false;
  }
  if (c < 0x80) {
    return !(u_isalnum(c) || c == '_' || c < 0x20) || u_isspace(c) || c == 0;
  }
  return std::any_of(std::begin(kDelimiterProperties), std::end(kDelimiterProperties),
                     [&](UProperty property) { return u_hasBinaryProperty(c, property); });
}

bool IsAscii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return (c & 0x80) == 0; });
}

std::string LowerCase(std::string_view utf8) {
  std::string out(utf8);
  if (IsAscii(utf8)) {
    std::transform(out.begin(), out.end(), out.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    return out;
  }
  icu::UnicodeString text = icu::UnicodeString::fromUTF8(utf8);
  out.clear();
  text.toLower(icu::Locale::getRoot()).toUTF8String(out);
  return out;
}

std::string RemoveDiacritics(std::string_view utf8) {
  if (IsAscii(utf8)) {
    return std::string(utf8);
  }
  UErrorCode error = U_ZERO_ERROR;
  const icu::Normalizer2* nfd = icu::Normalizer2::getNFDInstance(error);
  icu::UnicodeString text = icu::UnicodeString::fromUTF8(utf8);
  icu::UnicodeString decomposed = nfd == nullptr ? text : nfd->normalize(text, error);
  icu::UnicodeString kept;
  for (int32_t i = 0; i < decomposed.length(); i = decomposed.moveIndex32(i, 1)) {
    UChar32 c = decomposed.char32At(i);
    if (u_charType(c) != U_NON_SPACING_MARK) {
      kept.append(c);
    }
  }
  std::string out;
  kept.toUTF8String(out);
  return out;
}

void AddWord(std::string_view word, const Language& language, const TokenOptions& options,
             std::vector<std::string>* out) {
  std::string lower = LowerCase(word);
  if (!options.keep_stop_words && language.IsStopWord(lower)) {
    return;
  }
  std::string stem = language.Stem(options.case_sensitive ? word : std::string_view(lower));
  out->push_back(options.diacritic_sensitive ? std::move(stem) : RemoveDiacritics(stem));
}

}  // namespace

std::vector<std::string> Tokenize(std::string_view utf8, const Language& language,
                                  const TokenOptions& options) {
  std::vector<std::string> tokens;
  auto size = static_cast<int32_t>(utf8.size());
  int32_t word_start = -1;
  for (int32_t at = 0; at < size;) {
    int32_t start = at;
    UChar32 c;
    U8_NEXT(utf8.data(), at, size, c);
    bool delimiter = c < 0 || IsDelimiter(c, language);
    if (!delimiter && word_start < 0) {
      word_start = start;
    }
    if (delimiter && word_start >= 0) {
      AddWord(utf8.substr(word_start, start - word_start), language, options, &tokens);
      word_start = -1;
    }
  }
  if (word_start >= 0) {
    AddWord(utf8.substr(word_start), language, options, &tokens);
  }
  return tokens;
}

std::string Fold(std::string_view utf8, const TokenOptions& options) {
  std::string text = options.case_sensitive ? std::string(utf8) : LowerCase(utf8);
  return options.diacritic_sensitive ? text : RemoveDiacritics(text);
}

}  // namespace quire::expr::text
