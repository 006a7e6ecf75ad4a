// SPDX-License-Identifier: Apache-2.0
//
// Text search as pure functions: the terms a document puts into a text index with their scores,
// and queries over them.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "expr/text/language.h"
#include "quire/bson.h"
#include "quire/status.h"

namespace quire::expr::text {

// The options of a text index that matter for documents and queries.
struct IndexSpec {
  std::map<std::string, double> weights;  // dotted path -> weight
  double wildcard_weight = 0;             // of every string field ($**); 0 when not a wildcard
  std::string default_language = "english";
  std::string language_override = "language";

  // From an index as listIndexes shows it, or as createIndexes was given it.
  static IndexSpec FromIndex(bson::View index);
};

// The terms of a document and their scores. Errors: 17261 when the language field is not a string,
// 17262 when it names none.
Result<std::map<std::string, double>> ScoreDocument(const IndexSpec& spec, bson::View document);

struct QueryOptions {
  std::string search = {};
  std::string language = {};  // "" for the index's default
  bool case_sensitive = false;
  bool diacritic_sensitive = false;
};

// A parsed $search. Immutable and safe for concurrent use.
class Query {
 public:
  // Error BadValue for an unknown language, and the reason when the thread's operation is to end.
  // `default_language` is the index's.
  static Result<Query> Parse(const QueryOptions& options, std::string_view default_language);

  // Terms to look up in the index; a document with any of them is a candidate. Its score is the
  // sum of the scores stored with the terms it has.
  const std::set<std::string>& terms() const { return terms_; }
  const std::set<std::string>& negated_terms() const { return negated_terms_; }
  const std::vector<std::string>& phrases() const { return phrases_; }
  const std::vector<std::string>& negated_phrases() const { return negated_phrases_; }
  // Whether a candidate stays: no negated term or phrase, all phrases, and the terms in the case
  // and with the marks asked for. Error: why the thread's operation is to end.
  Result<bool> Matches(const IndexSpec& spec, bson::View document) const;

 private:
  void AddWords(std::string_view text, bool negated);

  QueryOptions options_;
  const Language* language_ = nullptr;
  std::set<std::string> terms_;        // folded, as stored in indexes
  std::set<std::string> exact_terms_;  // in the sensitivity asked for
  std::set<std::string> negated_terms_;
  std::vector<std::string> phrases_;
  std::vector<std::string> negated_phrases_;
  std::vector<std::string> wanted_;    // phrases_ in the sensitivity asked for
  std::vector<std::string> unwanted_;  // negated_phrases_ in it
};

}  // namespace quire::expr::text
