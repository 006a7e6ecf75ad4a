// SPDX-License-Identifier: Apache-2.0
#include "json.h"

#include <charconv>
#include <cstdint>
#include <limits>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/utf8.h"

namespace quire::conformance {

namespace {

constexpr int kMaxDepth = 200;

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<Json> ParseAll() {
    Json json;
    RETURN_IF_ERROR(ParseValue(&json, 0));
    SkipSpace();
    if (at_ != text_.size()) {
      return Error("text after the value");
    }
    return json;
  }

 private:
  Status Error(std::string_view what) const {
    return Status(kFailedToParse, "JSON, byte " + std::to_string(at_) + ": " + std::string(what));
  }

  char Peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  void SkipSpace() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != text_.npos) {
      ++at_;
    }
  }

  Status ParseValue(Json* out, int depth) {
    SkipSpace();
    const size_t start = at_;
    if (depth > kMaxDepth) {
      return Error("nested too deeply");
    }
    switch (Peek()) {
      case '{':
      case '[':
        RETURN_IF_ERROR(ParseMembers(out, Peek() == '{', depth));
        break;
      case '"':
        out->kind = Json::Kind::kString;
        RETURN_IF_ERROR(ParseString(&out->text));
        break;
      default:
        RETURN_IF_ERROR(ParseWord(out));
    }
    out->raw = text_.substr(start, at_ - start);
    return Status::Ok();
  }

  Status ParseMembers(Json* out, bool object, int depth) {
    out->kind = object ? Json::Kind::kObject : Json::Kind::kArray;
    const char close = object ? '}' : ']';
    ++at_;
    SkipSpace();
    if (Peek() == close) {
      ++at_;
      return Status::Ok();
    }
    for (;;) {
      std::string name;
      SkipSpace();
      if (object) {
        RETURN_IF_ERROR(ParseString(&name));
        SkipSpace();
        if (Peek() != ':') {
          return Error("no colon");
        }
        ++at_;
      }
      out->members.push_back({std::move(name), Json()});
      RETURN_IF_ERROR(ParseValue(&out->members.back().value, depth + 1));
      SkipSpace();
      const char next = Peek();
      ++at_;
      if (next == close) {
        return Status::Ok();
      }
      if (next != ',') {
        return Error("no comma");
      }
    }
  }

  Status ParseString(std::string* out) {
    if (Peek() != '"') {
      return Error("no string");
    }
    for (++at_; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '"') {
        ++at_;
        return Status::Ok();
      }
      if (c != '\\') {
        *out += c;
        continue;
      }
      ++at_;
      RETURN_IF_ERROR(ParseEscape(out));
    }
    return Error("a string without end");
  }

  Status ParseEscape(std::string* out) {
    static constexpr std::string_view kFrom = "\"\\/bfnrt", kTo = "\"\\/\b\f\n\r\t";
    if (size_t i = kFrom.find(Peek()); i != kFrom.npos) {
      *out += kTo[i];
      return Status::Ok();
    }
    uint32_t code = 0;
    RETURN_IF_ERROR(ParseHex(&code));
    if (code >= 0xd800 && code < 0xdc00 && text_.substr(at_ + 1, 2) == "\\u") {
      uint32_t low = 0;
      at_ += 2;
      RETURN_IF_ERROR(ParseHex(&low));
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    bson::AppendUtf8(code, out);
    return Status::Ok();
  }

  // At the `u`; stops at the last digit.
  Status ParseHex(uint32_t* code) {
    std::string_view digits = text_.substr(at_ + 1, 4);
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), *code, 16);
    if (Peek() != 'u' || error != std::errc() || end != digits.data() + 4) {
      return Error("a bad escape");
    }
    at_ += 4;
    return Status::Ok();
  }

  Status ParseWord(Json* out) {
    const size_t start = at_;
    while (at_ < text_.size() && std::string_view(",]} \t\r\n").find(text_[at_]) == text_.npos) {
      ++at_;
    }
    std::string_view word = text_.substr(start, at_ - start);
    if (word == "null") {
      out->kind = Json::Kind::kNull;
    } else if (word == "true" || word == "false") {
      out->kind = Json::Kind::kBool;
    } else if (!word.empty() && word.find_first_not_of("+-.0123456789eE") == word.npos) {
      out->kind = Json::Kind::kNumber;
    } else {
      return Error("no value");
    }
    return Status::Ok();
  }

  std::string_view text_;
  size_t at_ = 0;
};

bool IsWrapper(const Json& json) {
  static constexpr std::string_view kWrappers[] = {
      "$oid",           "$numberInt", "$numberLong", "$numberDouble",
      "$numberDecimal", "$minKey",    "$maxKey",     "$code",
      "$date",          "$timestamp", "$binary",     "$regularExpression"};
  if (json.members.size() == 2) {
    return json.members[0].name == "$code" && json.members[1].name == "$scope";
  }
  if (json.members.size() != 1) {
    return false;
  }
  for (std::string_view wrapper : kWrappers) {
    if (json.members[0].name == wrapper) {
      return true;
    }
  }
  return false;
}

Status AppendNumber(std::string_view name, std::string_view raw, bson::Builder* out) {
  const char* end = raw.data() + raw.size();
  if (raw.find_first_of(".eE") != raw.npos) {
    double number = 0;
    if (std::from_chars(raw.data(), end, number).ptr != end) {
      return Status(kFailedToParse, "bad number " + std::string(raw));
    }
    out->Append(name, number);
    return Status::Ok();
  }
  int64_t number = 0;
  if (std::from_chars(raw.data(), end, number).ptr != end) {
    return Status(kFailedToParse, "bad number " + std::string(raw));
  }
  if (number >= std::numeric_limits<int32_t>::min() &&
      number <= std::numeric_limits<int32_t>::max()) {
    out->Append(name, static_cast<int32_t>(number));
  } else {
    out->Append(name, number);
  }
  return Status::Ok();
}

Status AppendMembers(const Json& json, bson::Builder* out);

Status AppendValue(std::string_view name, const Json& json, bson::Builder* out) {
  switch (json.kind) {
    case Json::Kind::kNull:
      out->AppendNull(name);
      return Status::Ok();
    case Json::Kind::kBool:
      out->Append(name, json.raw == "true");
      return Status::Ok();
    case Json::Kind::kNumber:
      return AppendNumber(name, json.raw, out);
    case Json::Kind::kString:
      out->Append(name, json.text);
      return Status::Ok();
    case Json::Kind::kArray:
      out->BeginArray(name);
      break;
    case Json::Kind::kObject:
      if (IsWrapper(json)) {
        ASSIGN_OR_RETURN(bson::Document wrapped,
                         bson::Document::FromJson("{\"v\":" + std::string(json.raw) + "}"));
        out->Append(name, wrapped["v"]);
        return Status::Ok();
      }
      out->BeginDocument(name);
      break;
  }
  RETURN_IF_ERROR(AppendMembers(json, out));
  out->End();
  return Status::Ok();
}

Status AppendMembers(const Json& json, bson::Builder* out) {
  size_t index = 0;
  for (const auto& [name, value] : json.members) {
    const bool named = json.kind == Json::Kind::kObject;
    RETURN_IF_ERROR(AppendValue(named ? name : std::to_string(index), value, out));
    ++index;
  }
  return Status::Ok();
}

}  // namespace

const Json* Json::Find(std::string_view name) const {
  for (const auto& [member, value] : members) {
    if (member == name) {
      return &value;
    }
  }
  return nullptr;
}

std::string Json::TextOf(std::string_view name, std::string_view otherwise) const {
  const Json* found = Find(name);
  return found != nullptr ? found->text : std::string(otherwise);
}

Result<Json> ParseJson(std::string_view text) { return Parser(text).ParseAll(); }

Result<bson::Document> ToBson(const Json& json) {
  bson::Builder builder;
  RETURN_IF_ERROR(AppendMembers(json, &builder));
  return builder.Finish();
}

}  // namespace quire::conformance
