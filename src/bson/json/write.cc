// SPDX-License-Identifier: Apache-2.0
//
// BSON to extended JSON (v2). Without recursion: open documents wait on a stack.
#include <cmath>
#include <cstdio>

#include "bson/decimal.h"
#include "bson/json/text_forms.h"
#include "bson/utf8.h"
#include "quire/bson.h"

namespace quire::bson {

namespace {

constexpr int64_t kYear10000 = 253402300800000;

class JsonWriter {
 public:
  explicit JsonWriter(bool canonical) : canonical_(canonical) {}

  std::string Run(const Value& value) {
    Write(value);
    while (!open_.empty()) {
      Level& level = open_.back();
      if (level.at == level.end) {
        out_ += level.close;
        open_.pop_back();
        continue;
      }
      Element element = *level.at++;
      if (!level.first) {
        out_ += ',';
      }
      level.first = false;
      if (!level.array) {
        WriteString(element.name());
        out_ += ':';
      }
      Write(element.value());  // may push: `level` is not used after it
    }
    return std::move(out_);
  }

 private:
  struct Level {
    View::Iterator at;
    View::Iterator end;
    bool array;
    bool first;
    const char* close;
  };

  void Open(View view, bool array, const char* close) {
    out_ += array ? '[' : '{';
    open_.push_back({view.begin(), view.end(), array, true, close});
  }

  // {"name":text} with a raw or a quoted text.
  void WriteRaw(const char* name, std::string_view text) {
    out_.append("{\"").append(name).append("\":").append(text).append("}");
  }
  void WriteQuoted(const char* name, std::string_view text) {
    out_.append("{\"").append(name).append("\":");
    WriteString(text);
    out_ += '}';
  }

  void WriteString(std::string_view text) {
    out_ += '"';
    const char* at = text.data();
    const char* end = at + text.size();
    while (at < end) {
      const char* start = at;
      uint32_t code = DecodeUtf8(&at, end);
      if (code == kInvalidCodePoint) {
        out_ += "\xef\xbf\xbd";  // U+FFFD
      } else if (code < 0x20 || code == '"' || code == '\\' || code == 0x7f) {
        WriteEscape(static_cast<char>(code));
      } else {
        out_.append(start, at);
      }
    }
    out_ += '"';
  }

  void WriteEscape(char c) {
    constexpr std::string_view kPlain = "\"\\\b\f\n\r\t";
    constexpr std::string_view kLetter = "\"\\bfnrt";
    out_ += '\\';
    if (size_t i = kPlain.find(c); i != std::string_view::npos) {
      out_ += kLetter[i];
      return;
    }
    char code[8];
    snprintf(code, sizeof code, "u%04x", static_cast<unsigned>(static_cast<uint8_t>(c)));
    out_ += code;
  }

  void WriteInteger(const char* name, int64_t i) {
    std::string text = std::to_string(i);
    if (canonical_) {
      WriteQuoted(name, text);
    } else {
      out_ += text;
    }
  }

  void WriteDouble(double d) {
    std::string text = DoubleText(d);
    if (canonical_ || !std::isfinite(d)) {
      WriteQuoted("$numberDouble", text);
    } else {
      out_ += text;
    }
  }

  void WriteDate(int64_t millis) {
    if (!canonical_ && millis >= 0 && millis < kYear10000) {
      WriteQuoted("$date", ToIsoDate(millis));
      return;
    }
    out_ += "{\"$date\":";
    WriteQuoted("$numberLong", std::to_string(millis));
    out_ += '}';
  }

  void WriteBinary(const Value& value) {
    char subtype[8];
    snprintf(subtype, sizeof subtype, "%02x", static_cast<unsigned>(value.binary_subtype()));
    out_ += "{\"$binary\":{\"base64\":\"" + ToBase64(value.AsBinary()) + "\",\"subType\":\"" +
            subtype + "\"}}";
  }

  void WriteRegex(const Value& value) {
    out_ += "{\"$regularExpression\":{\"pattern\":";
    WriteString(value.RegexPattern());
    out_ += ",\"options\":";
    WriteString(value.RegexOptions());
    out_ += "}}";
  }

  void WriteDbPointer(const Value& value) {
    out_ += "{\"$dbPointer\":{\"$ref\":";
    WriteString(value.DbPointerNamespace());
    out_ += ",\"$id\":";
    WriteQuoted("$oid", value.DbPointerId().ToHex());
    out_ += "}}";
  }

  void WriteCodeWithScope(const Value& value) {
    out_ += "{\"$code\":";
    WriteString(value.CodeWithScopeCode());
    out_ += ",\"$scope\":";
    Open(value.CodeWithScopeScope(), false, "}}");
  }

  void WriteTimestamp(Timestamp t) {
    out_ += "{\"$timestamp\":{\"t\":" + std::to_string(t.seconds) +
            ",\"i\":" + std::to_string(t.increment) + "}}";
  }

  void Write(const Value& value) {
    switch (value.type()) {
      case Type::kMissing:
        return;
      case Type::kDouble:
        return WriteDouble(value.AsDouble());
      case Type::kString:
        return WriteString(value.AsString());
      case Type::kDocument:
        return Open(value.AsDocument(), false, "}");
      case Type::kArray:
        return Open(value.AsArray(), true, "]");
      case Type::kBinary:
        return WriteBinary(value);
      case Type::kUndefined:
        return WriteRaw("$undefined", "true");
      case Type::kObjectId:
        return WriteQuoted("$oid", value.AsObjectId().ToHex());
      case Type::kBool:
        out_ += value.AsBool() ? "true" : "false";
        return;
      case Type::kDate:
        return WriteDate(value.AsDate().millis);
      case Type::kNull:
        out_ += "null";
        return;
      case Type::kRegex:
        return WriteRegex(value);
      case Type::kDbPointer:
        return WriteDbPointer(value);
      case Type::kCode:
        return WriteQuoted("$code", value.AsString());
      case Type::kSymbol:
        return WriteQuoted("$symbol", value.AsString());
      case Type::kCodeWithScope:
        return WriteCodeWithScope(value);
      case Type::kInt32:
        return WriteInteger("$numberInt", value.AsInt32());
      case Type::kTimestamp:
        return WriteTimestamp(value.AsTimestamp());
      case Type::kInt64:
        return WriteInteger("$numberLong", value.AsInt64());
      case Type::kDecimal128:
        return WriteQuoted("$numberDecimal", decimal::ToString(value.AsDecimal()));
      case Type::kMaxKey:
        return WriteRaw("$maxKey", "1");
      case Type::kMinKey:
        return WriteRaw("$minKey", "1");
    }
  }

  bool canonical_;
  std::string out_;
  std::vector<Level> open_;
};

}  // namespace

std::string ToJson(const Argument& document) {
  return JsonWriter(false).Run(Value(document.view()));
}
std::string ToCanonicalJson(const Argument& document) {
  return JsonWriter(true).Run(Value(document.view()));
}
std::string ToJson(const Value& value) { return JsonWriter(false).Run(value); }

}  // namespace quire::bson
