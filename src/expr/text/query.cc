// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/current_op.h"
#include "base/try.h"
#include "expr/text/fields_internal.h"
#include "expr/text/text.h"
#include "expr/text/tokenizer.h"

namespace quire::expr::text {
namespace {

bool IsSpace(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v';
}

Result<std::vector<std::string>> FoldAll(const std::vector<std::string>& phrases,
                                         const TokenOptions& options) {
  std::vector<std::string> folded;
  folded.reserve(phrases.size());
  for (const std::string& phrase : phrases) {
    RETURN_IF_ERROR(CheckCurrentOp());
    folded.push_back(Fold(phrase, options));
  }
  return folded;
}

}  // namespace

void Query::AddWords(std::string_view text, bool negated) {
  TokenOptions asked{options_.case_sensitive, options_.diacritic_sensitive};
  std::vector<std::string> exact = Tokenize(text, *language_, asked);
  if (negated) {
    negated_terms_.insert(exact.begin(), exact.end());
    return;
  }
  exact_terms_.insert(exact.begin(), exact.end());
  std::vector<std::string> folded = Tokenize(text, *language_);
  terms_.insert(folded.begin(), folded.end());
}

Result<Query> Query::Parse(const QueryOptions& options, std::string_view default_language) {
  Query query;
  query.options_ = options;
  ASSIGN_OR_RETURN(query.language_,
                   FindLanguage(options.language.empty() ? default_language : options.language));
  std::string_view rest = options.search;
  bool negated = false;
  bool after_space = true;
  while (!rest.empty()) {
    char c = rest[0];
    if (IsSpace(c)) {
      negated = false;
      after_space = true;
      rest.remove_prefix(1);
      continue;
    }
    if (c == '-') {
      negated = negated || after_space;
      after_space = false;
      rest.remove_prefix(1);
      continue;
    }
    after_space = false;
    RETURN_IF_ERROR(CheckCurrentOp());
    if (c == '"') {
      rest.remove_prefix(1);
      size_t end = rest.find('"');
      std::string_view phrase = rest.substr(0, end);
      if (end != rest.npos) {
        (negated ? query.negated_phrases_ : query.phrases_).emplace_back(phrase);
      }
      if (!negated) {
        query.AddWords(phrase, false);
      }
      rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
      continue;
    }
    size_t end = 0;
    while (end < rest.size() && !IsSpace(rest[end]) && rest[end] != '"' && rest[end] != '-') {
      ++end;
    }
    query.AddWords(rest.substr(0, end), negated);
    rest.remove_prefix(end);
  }
  const TokenOptions asked{options.case_sensitive, options.diacritic_sensitive};
  ASSIGN_OR_RETURN(query.wanted_, FoldAll(query.phrases_, asked));
  ASSIGN_OR_RETURN(query.unwanted_, FoldAll(query.negated_phrases_, asked));
  return query;
}

Result<bool> Query::Matches(const IndexSpec& spec, bson::View document) const {
  TokenOptions asked{options_.case_sensitive, options_.diacritic_sensitive};
  bool check_terms = options_.case_sensitive || options_.diacritic_sensitive;
  if (!check_terms && negated_terms_.empty() && phrases_.empty() && negated_phrases_.empty()) {
    return true;
  }
  bool term_found = !check_terms;
  bool refused = false;
  std::vector<bool> phrase_found(phrases_.size());
  Status ended;
  auto ends = [&ended] {
    ended = ended.ok() ? CheckCurrentOp() : ended;
    return !ended.ok();
  };
  auto holds = [](const std::string& text, const std::string& phrase) {
    return text.find(phrase) != text.npos;
  };
  Status walked = WalkTextDocument(
      spec, document, [&](std::string_view text, double, const Language& language) {
        if (!term_found || !negated_terms_.empty()) {
          for (const std::string& token : Tokenize(text, language, asked)) {
            term_found = term_found || exact_terms_.contains(token);
            refused = refused || negated_terms_.contains(token);
          }
        }
        if (phrases_.empty() && negated_phrases_.empty()) {
          return;
        }
        std::string folded = Fold(text, asked);
        for (size_t i = 0; i < wanted_.size() && !ends(); ++i) {
          phrase_found[i] = phrase_found[i] || holds(folded, wanted_[i]);
        }
        for (size_t i = 0; i < unwanted_.size() && !refused && !ends(); ++i) {
          refused = holds(folded, unwanted_[i]);
        }
      });
  RETURN_IF_ERROR(ended);
  return walked.ok() && term_found && !refused &&
         std::all_of(phrase_found.begin(), phrase_found.end(), [](bool found) { return found; });
}

}  // namespace quire::expr::text
