// SPDX-License-Identifier: Apache-2.0
#include "expr/match/regex.h"

#include "base/error_codes.h"
#include "expr/pcre_internal.h"

namespace quire::expr::match {
namespace {

// Each thread's scratch space. Only whether there is a match is asked, so one pair is enough.
struct Scratch {
  PcreMatchData data{pcre2_match_data_create(1, nullptr)};
  PcreMatchContext context{pcre2_match_context_create(nullptr)};
};

Scratch& ThreadScratch() {
  thread_local Scratch scratch;
  return scratch;
}

class Pcre2Regex final : public Regex {
 public:
  Pcre2Regex(std::string_view pattern, std::string_view options, pcre2_code* code)
      : Regex(pattern, options), code_(code) {}

  bool Search(std::string_view text) const override {
    Scratch& scratch = ThreadScratch();
    int found = Run(text, 0, scratch);
    if (found == PCRE2_ERROR_JIT_STACKLIMIT) {
      found = Run(text, PCRE2_NO_JIT, scratch);
    }
    return found >= 0;
  }

 private:
  int Run(std::string_view text, uint32_t flags, Scratch& scratch) const {
    return pcre2_match(code_.get(), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), 0,
                       flags, scratch.data.get(), scratch.context.get());
  }
  PcreCode code_;
};

}  // namespace

Result<std::shared_ptr<const Regex>> Regex::Compile(std::string_view pattern,
                                                    std::string_view options) {
  if (pattern.find('\0') != pattern.npos) {
    return Status(kBadValue, "Regular expression cannot contain an embedded null byte");
  }
  std::optional<uint32_t> flags = PcreFlags(options);
  if (!flags) {
    return Status(51108, "invalid flag in regex options: " + std::string(options));
  }
  int error = 0;
  PCRE2_SIZE offset = 0;
  pcre2_code* code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                                   *flags, &error, &offset, nullptr);
  if (code == nullptr) {
    PCRE2_UCHAR text[256];
    pcre2_get_error_message(error, text, sizeof text);
    return Status(51091,
                  "Regular expression is invalid: " + std::string(reinterpret_cast<char*>(text)));
  }
  // A failure leaves the interpreter, which is as right and slower.
  (void)pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
  return std::shared_ptr<const Regex>(std::make_shared<Pcre2Regex>(pattern, options, code));
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
