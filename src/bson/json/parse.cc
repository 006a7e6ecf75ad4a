// SPDX-License-Identifier: Apache-2.0
//
// Extended JSON (v2, canonical or relaxed, with the older forms of binary and date) to BSON.
#include <charconv>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/json/wrapper_internal.h"
#include "bson/utf8.h"
#include "bson/validate.h"
#include "quire/bson.h"

namespace quire::bson {

namespace {

int HexValue(char c) {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

class JsonParser {
 public:
  explicit JsonParser(std::string_view text)
      : begin_(text.data()), at_(begin_), end_(begin_ + text.size()) {}

  Result<Document> Run() {
    Builder out;
    SkipSpace();
    if (!Take('{')) {
      return Error("expected an object");
    }
    RETURN_IF_ERROR(ParseFields(&out));
    SkipSpace();
    if (at_ != end_) {
      return Error("text after the end");
    }
    Document document = out.Finish();
    if (!document.empty() && IsJsonWrapper(document.view().front().name())) {
      return Error("the outermost object must be a document");
    }
    return document;
  }

 private:
  Status Error(const char* what) const {
    return Status(kFailedToParse, std::string("Invalid extended JSON: ") + what + " at offset " +
                                      std::to_string(at_ - begin_));
  }

  void SkipSpace() {
    while (at_ < end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\t' || *at_ == '\r')) {
      ++at_;
    }
  }

  bool Take(char c) {
    if (at_ == end_ || *at_ != c) {
      return false;
    }
    ++at_;
    return true;
  }

  bool TakeWord(std::string_view word) {
    if (std::string_view(at_, static_cast<size_t>(end_ - at_)).substr(0, word.size()) != word) {
      return false;
    }
    at_ += word.size();
    return true;
  }

  // The fields up to and with the closing brace; the opening one is taken.
  Status ParseFields(Builder* out) {
    std::string name;
    SkipSpace();
    if (Take('}')) {
      return Status::Ok();
    }
    do {
      SkipSpace();
      name.clear();
      RETURN_IF_ERROR(ParseString(&name));
      if (name.find('\0') != std::string::npos) {
        return Error("NUL in a field name");
      }
      SkipSpace();
      if (!Take(':')) {
        return Error("expected ':'");
      }
      RETURN_IF_ERROR(ParseValue(name, out));
      SkipSpace();
    } while (Take(','));
    return Take('}') ? Status::Ok() : Error("expected ',' or '}'");
  }

  Status ParseArray(std::string_view name, Builder* out) {
    out->BeginArray(name);
    SkipSpace();
    if (!Take(']')) {
      uint32_t index = 0;
      do {
        RETURN_IF_ERROR(ParseValue(std::to_string(index++), out));
        SkipSpace();
      } while (Take(','));
      if (!Take(']')) {
        return Error("expected ',' or ']'");
      }
    }
    out->End();
    return Status::Ok();
  }

  // An object's first key decides whether it is a wrapper; then it is read apart.
  Status ParseObject(std::string_view name, Builder* out) {
    if (!AtWrapper()) {
      out->BeginDocument(name);
      RETURN_IF_ERROR(ParseFields(out));
      out->End();
      return Status::Ok();
    }
    Builder inner;
    RETURN_IF_ERROR(ParseFields(&inner));
    Document wrapper = inner.Finish();
    return AppendUnwrapped(wrapper, name, out);
  }

  bool AtWrapper() const {
    JsonParser ahead(std::string_view(at_, static_cast<size_t>(end_ - at_)));
    ahead.SkipSpace();
    if (end_ - ahead.at_ < 2 || ahead.at_[0] != '"' || ahead.at_[1] != '$') {
      return false;
    }
    std::string key;
    return ahead.ParseString(&key).ok() && IsJsonWrapper(key);
  }

  Status ParseValue(std::string_view name, Builder* out) {
    SkipSpace();
    if (at_ == end_) {
      return Error("unexpected end");
    }
    if (*at_ == '{' || *at_ == '[') {
      if (depth_ == kMaxMessageDepth) {
        return Error("nested too deeply");
      }
      ++depth_;
      Status status = *at_++ == '{' ? ParseObject(name, out) : ParseArray(name, out);
      --depth_;
      return status;
    }
    return ParseScalar(name, out);
  }

  Status ParseScalar(std::string_view name, Builder* out) {
    if (*at_ == '"') {
      std::string text;
      RETURN_IF_ERROR(ParseString(&text));
      out->Append(name, text);
    } else if (TakeWord("true")) {
      out->Append(name, true);
    } else if (TakeWord("false")) {
      out->Append(name, false);
    } else if (TakeWord("null")) {
      out->AppendNull(name);
    } else {
      return ParseNumber(name, out);
    }
    return Status::Ok();
  }

  void SkipDigits() {
    while (at_ < end_ && *at_ >= '0' && *at_ <= '9') {
      ++at_;
    }
  }

  // Moves past a number of JSON's grammar.
  bool ScanNumber(bool* integral) {
    Take('-');
    const char* digits = at_;
    SkipDigits();
    if (at_ == digits || (*digits == '0' && at_ - digits > 1)) {
      return false;
    }
    *integral = true;
    if (Take('.')) {
      *integral = false;
      digits = at_;
      SkipDigits();
      if (at_ == digits) {
        return false;
      }
    }
    if (Take('e') || Take('E')) {
      *integral = false;
      if (!Take('-')) {
        Take('+');
      }
      digits = at_;
      SkipDigits();
      return at_ != digits;
    }
    return true;
  }

  Status ParseNumber(std::string_view name, Builder* out) {
    const char* start = at_;
    bool integral = false;
    if (!ScanNumber(&integral)) {
      return Error("expected a value");
    }
    int64_t number = 0;
    if (integral && std::from_chars(start, at_, number).ec == std::errc()) {
      if (number == static_cast<int32_t>(number)) {
        out->Append(name, static_cast<int32_t>(number));
      } else {
        out->Append(name, number);
      }
      return Status::Ok();
    }
    double real = 0;
    if (std::from_chars(start, at_, real).ec != std::errc()) {
      return Error("number out of range");
    }
    out->Append(name, real);
    return Status::Ok();
  }

  Status ParseString(std::string* out) {
    if (!Take('"')) {
      return Error("expected a string");
    }
    while (at_ < end_ && *at_ != '"') {
      if (*at_ == '\\') {
        ++at_;
        RETURN_IF_ERROR(ParseEscape(out));
        continue;
      }
      const char* start = at_;
      uint32_t code = DecodeUtf8(&at_, end_);
      if (code == kInvalidCodePoint || code < 0x20) {
        return Error("bad character in a string");
      }
      out->append(start, at_);
    }
    return Take('"') ? Status::Ok() : Error("string not closed");
  }

  Status ParseEscape(std::string* out) {
    constexpr std::string_view kLetter = "\"\\/bfnrt";
    constexpr std::string_view kPlain = "\"\\/\b\f\n\r\t";
    if (at_ < end_) {
      if (size_t i = kLetter.find(*at_); i != std::string_view::npos) {
        ++at_;
        *out += kPlain[i];
        return Status::Ok();
      }
    }
    uint32_t code = 0;
    if (!Take('u') || !ParseHex4(&code)) {
      return Error("bad escape");
    }
    if (code >= 0xd800 && code < 0xdc00) {
      uint32_t low = 0;
      if (!Take('\\') || !Take('u') || !ParseHex4(&low) || low < 0xdc00 || low > 0xdfff) {
        return Error("unpaired surrogate");
      }
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    } else if (code >= 0xdc00 && code <= 0xdfff) {
      return Error("unpaired surrogate");
    }
    AppendUtf8(code, out);
    return Status::Ok();
  }

  bool ParseHex4(uint32_t* code) {
    if (end_ - at_ < 4) {
      return false;
    }
    for (int i = 0; i < 4; ++i) {
      int digit = HexValue(*at_++);
      if (digit < 0) {
        return false;
      }
      *code = *code << 4 | static_cast<uint32_t>(digit);
    }
    return true;
  }

  const char* begin_;
  const char* at_;
  const char* end_;
  int depth_ = 1;
};

}  // namespace

Result<Document> Document::FromJson(std::string_view json) { return JsonParser(json).Run(); }

}  // namespace quire::bson
