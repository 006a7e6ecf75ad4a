// SPDX-License-Identifier: Apache-2.0
//
// Compiled regular expressions (PCRE2).
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "quire/bson.h"
#include "quire/status.h"

namespace quire::expr::match {

// Immutable and safe for concurrent use.
class Regex {
 public:
  // Options are letters of "imsxu". Error 51091 for a bad pattern, 51108 for a bad option,
  // BadValue for a null byte.
  static Result<std::shared_ptr<const Regex>> Compile(std::string_view pattern,
                                                      std::string_view options);
  virtual ~Regex() = default;

  // Whether the pattern occurs in `text`. 51156 when that takes more than a match may, and the
  // reason when the thread's operation is to end.
  virtual Result<bool> Find(std::string_view text) const = 0;
  // The same; an error is false and goes to the thread's RegexErrorScope.
  bool Search(std::string_view text) const;

  const std::string& pattern() const { return pattern_; }
  const std::string& options() const { return options_; }

  // Strings and symbols the pattern occurs in, and the same regular expression as a value.
  bool Matches(const bson::Value& value) const;

 protected:
  Regex(std::string_view pattern, std::string_view options)
      : pattern_(pattern), options_(options) {}

 private:
  std::string pattern_;
  std::string options_;
};

// Keeps the first error of the thread's searches that cannot return it, in *error.
class RegexErrorScope {
 public:
  explicit RegexErrorScope(Status* error);
  ~RegexErrorScope();
  RegexErrorScope(const RegexErrorScope&) = delete;
  RegexErrorScope& operator=(const RegexErrorScope&) = delete;

 private:
  Status* outer_;
};

// Whether the thread's operation is to end, for matching that cannot return an error: the reason
// goes to the thread's RegexErrorScope.
bool IsToEnd();

// What an index can use of a pattern: every match starts with `prefix`; `exact` when every string
// with that prefix matches.
struct RegexPrefix {
  std::string prefix;  // empty: nothing usable
  bool exact = false;
};
RegexPrefix PrefixOf(const Regex& regex);

}  // namespace quire::expr::match
