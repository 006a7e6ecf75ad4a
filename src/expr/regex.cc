// SPDX-License-Identifier: Apache-2.0
#include "expr/regex.h"

#include <utility>

#include "base/current_op.h"
#include "base/error_codes.h"
#include "base/try.h"
#include "expr/pcre_internal.h"

namespace quire::expr::match {
namespace {

// Each thread's scratch space. Only whether there is a match is asked, so one pair is enough.
pcre2_match_data* ThreadData() {
  thread_local PcreMatchData data(pcre2_match_data_create(1, nullptr));
  return data.get();
}

thread_local Status* error_sink = nullptr;

class Pcre2Regex final : public Regex {
 public:
  Pcre2Regex(std::string_view pattern, std::string_view options,
             std::unique_ptr<const PcrePattern> compiled)
      : Regex(pattern, options), compiled_(std::move(compiled)) {}

  Result<bool> Find(std::string_view text) const override {
    ASSIGN_OR_RETURN(int found, compiled_->Match(text, 0, ThreadData()));
    if (found >= 0) {
      return true;
    }
    if (found == PCRE2_ERROR_NOMATCH || IsBadUtf8(found)) {
      return false;
    }
    return PcreFailure(found, "$regex");
  }

 private:
  std::unique_ptr<const PcrePattern> compiled_;
};

}  // namespace

RegexErrorScope::RegexErrorScope(Status* error) : outer_(error_sink) { error_sink = error; }
RegexErrorScope::~RegexErrorScope() { error_sink = outer_; }

bool IsToEnd() {
  Status status = CheckCurrentOp();
  if (status.ok()) [[likely]] {
    return false;
  }
  if (error_sink != nullptr && error_sink->ok()) {
    *error_sink = std::move(status);
  }
  return true;
}

bool Regex::Search(std::string_view text) const {
  Result<bool> found = Find(text);
  if (!found.ok() && error_sink != nullptr && error_sink->ok()) {
    *error_sink = found.status();
  }
  return found.ok() && *found;
}

Result<std::shared_ptr<const Regex>> Regex::Compile(std::string_view pattern,
                                                    std::string_view options) {
  if (pattern.find('\0') != pattern.npos) {
    return Status(kBadValue, "Regular expression cannot contain an embedded null byte");
  }
  std::optional<uint32_t> flags = PcreFlags(options);
  if (!flags) {
    return Status(51108, "invalid flag in regex options: " + std::string(options));
  }
  std::string error;
  auto compiled = PcrePattern::Compile(pattern, *flags, &error);
  if (compiled == nullptr) {
    return Status(51091, "Regular expression is invalid: " + error);
  }
  return std::shared_ptr<const Regex>(
      std::make_shared<Pcre2Regex>(pattern, options, std::move(compiled)));
}

bool Regex::Matches(const bson::Value& value) const {
  switch (value.type()) {
    case bson::Type::kString:
    case bson::Type::kSymbol:
      return Search(value.AsString());
    case bson::Type::kRegex:
      return value.RegexPattern() == pattern_ && value.RegexOptions() == options_;
    default:
      return false;
  }
}

namespace {

bool IsLiteral(char c) {
  return std::string_view("|?*\\^$.[()+{").find(c) == std::string_view::npos;
}

// The start anchor allowed under the options, cut off; false when there is none.
bool TakeAnchor(std::string_view* pattern, bool multiline) {
  if (pattern->starts_with("\\A")) {
    pattern->remove_prefix(2);
    return true;
  }
  if (!multiline && pattern->starts_with('^')) {
    pattern->remove_prefix(1);
    return true;
  }
  return false;
}

}  // namespace

RegexPrefix PrefixOf(const Regex& regex) {
  std::string_view rest = regex.pattern();
  std::string_view options = regex.options();
  bool multiline = options.find('m') != options.npos;
  bool dotall = options.find('s') != options.npos;
  if (options.find('i') != options.npos || options.find('x') != options.npos ||
      rest.find('|') != rest.npos || !TakeAnchor(&rest, multiline)) {
    return {};
  }
  RegexPrefix result;
  while (!rest.empty()) {
    char c = rest[0];
    if (c == '\\' && rest.size() > 1 && !isalnum(static_cast<unsigned char>(rest[1]))) {
      result.prefix += rest[1];
      rest.remove_prefix(2);
    } else if (IsLiteral(c)) {
      result.prefix += c;
      rest.remove_prefix(1);
    } else {
      break;
    }
  }
  if (rest.empty() || (dotall && rest == ".*")) {
    result.exact = true;
    return result;
  }
  // A quantifier takes back the character before it (all bytes of it).
  if (rest[0] == '*' || rest[0] == '?' || rest[0] == '{' || rest[0] == '+') {
    while (!result.prefix.empty() && (result.prefix.back() & 0xC0) == 0x80) {
      result.prefix.pop_back();
    }
    if (!result.prefix.empty()) {
      result.prefix.pop_back();
    }
  }
  return result;
}

}  // namespace quire::expr::match
