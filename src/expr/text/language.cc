// SPDX-License-Identifier: Apache-2.0
#include "expr/text/language.h"

#include <libstemmer.h>

#include <algorithm>
#include <map>
#include <memory>

#include "base/error_codes.h"
#include "expr/text/stop_words_internal.h"

namespace quire::expr::text {
namespace {

constexpr Language kLanguages[] = {
    {"none", "", "", false},
    {"danish", "da", "danish", false},
    {"dutch", "nl", "dutch", false},
    {"english", "en", "english", true},
    {"finnish", "fi", "finnish", false},
    {"french", "fr", "french", false},
    {"german", "de", "german", false},
    {"hungarian", "hu", "hungarian", false},
    {"italian", "it", "italian", false},
    {"norwegian", "nb", "norwegian", false},
    {"portuguese", "pt", "portuguese", false},
    {"romanian", "ro", "romanian", false},
    {"russian", "ru", "russian", false},
    {"spanish", "es", "spanish", false},
    {"swedish", "sv", "swedish", false},
    {"turkish", "tr", "turkish", false},
};

struct DeleteStemmer {
  void operator()(sb_stemmer* stemmer) const { sb_stemmer_delete(stemmer); }
};

// Stemmers keep state, so each thread has its own.
sb_stemmer* ThreadStemmer(std::string_view algorithm) {
  thread_local std::map<std::string, std::unique_ptr<sb_stemmer, DeleteStemmer>, std::less<>>
      stemmers;
  auto found = stemmers.find(algorithm);
  if (found == stemmers.end()) {
    std::string name(algorithm);
    found = stemmers.try_emplace(name, sb_stemmer_new(name.c_str(), "UTF_8")).first;
  }
  return found->second.get();
}

bool EqualIgnoringCase(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return tolower(static_cast<unsigned char>(x)) == tolower(static_cast<unsigned char>(y));
  });
}

}  // namespace

bool Language::IsStopWord(std::string_view word) const { return InStopWords(name, word); }

std::string Language::Stem(std::string_view word) const {
  sb_stemmer* stemmer = algorithm.empty() ? nullptr : ThreadStemmer(algorithm);
  if (stemmer == nullptr) {
    return std::string(word);
  }
  const sb_symbol* stem = sb_stemmer_stem(stemmer, reinterpret_cast<const sb_symbol*>(word.data()),
                                          static_cast<int>(word.size()));
  if (stem == nullptr) {
    return std::string(word);
  }
  return std::string(reinterpret_cast<const char*>(stem),
                     static_cast<size_t>(sb_stemmer_length(stemmer)));
}

Result<const Language*> FindLanguage(std::string_view name) {
  for (const Language& language : kLanguages) {
    if (EqualIgnoringCase(language.name, name) ||
        (!language.code.empty() && EqualIgnoringCase(language.code, name))) {
      return &language;
    }
  }
  return Status(kBadValue,
                "unsupported language: \"" + std::string(name) + "\" for text index version 3");
}

}  // namespace quire::expr::text
