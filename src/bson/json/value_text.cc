// SPDX-License-Identifier: Apache-2.0
#include "bson/json/value_text.h"

#include <cstdio>
#include <cstring>

#include "bson/decimal.h"
#include "bson/json/text_forms.h"

namespace quire::bson {

namespace {

// Sixteen digits and always a sign that it is a double: 5.0, inf.0.
std::string ShellDouble(double d) {
  char buffer[40];
  snprintf(buffer, sizeof buffer, "%.16g", d);
  std::string text = buffer;
  if (text.find('.') == std::string::npos) {
    text += ".0";
  }
  return text;
}

std::string UpperHex(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string text;
  for (char c : bytes) {
    text.push_back(kDigits[static_cast<unsigned char>(c) >> 4]);
    text.push_back(kDigits[static_cast<unsigned char>(c) & 15]);
  }
  return text;
}

// MongoDB cuts them so in messages, also within a character.
constexpr size_t kLongString = 160;
constexpr size_t kShownOfString = 150;
constexpr size_t kShownOfBinary = 80;

std::string Quoted(std::string_view text, Lengths lengths) {
  const bool cut = lengths == Lengths::kShortened && text.size() >= kLongString;
  return "\"" + std::string(cut ? text.substr(0, kShownOfString) : text) + (cut ? "...\"" : "\"");
}

std::string BinaryText(const Value& value, Lengths lengths) {
  const std::string_view bytes = value.AsBinary();
  const bool cut = lengths == Lengths::kShortened && bytes.size() > kShownOfBinary;
  return "BinData(" + std::to_string(value.binary_subtype()) + ", " +
         UpperHex(cut ? bytes.substr(0, kShownOfBinary) : bytes) + (cut ? "...)" : ")");
}

std::string ArrayText(View array, Lengths lengths) {
  std::string text = "[";
  for (const Element& element : array) {
    text += text.size() > 1 ? ", " : " ";
    text += ValueText(element.value(), lengths);
  }
  return text.size() > 1 ? text + " ]" : "[]";
}

}  // namespace

std::string DocumentText(View document, Lengths lengths) {
  std::string text = "{";
  for (const Element& element : document) {
    text += text.size() > 1 ? ", " : " ";
    text += std::string(element.name()) + ": " + ValueText(element.value(), lengths);
  }
  return text.size() > 1 ? text + " }" : "{}";
}

std::string ValueText(const Value& value, Lengths lengths) {
  switch (value.type()) {
    case Type::kMissing:
      return "";
    case Type::kDouble:
      return ShellDouble(value.AsDouble());
    case Type::kString:
    case Type::kSymbol:
      return Quoted(value.AsString(), lengths);
    case Type::kDocument:
      return DocumentText(value.AsDocument(), lengths);
    case Type::kArray:
      return ArrayText(value.AsArray(), lengths);
    case Type::kBinary:
      return BinaryText(value, lengths);
    case Type::kUndefined:
      return "undefined";
    case Type::kObjectId:
      return "ObjectId('" + value.AsObjectId().ToHex() + "')";
    case Type::kBool:
      return value.AsBool() ? "true" : "false";
    case Type::kDate:
      return "new Date(" + std::to_string(value.AsDate().millis) + ")";
    case Type::kNull:
      return "null";
    case Type::kRegex:
      return "/" + std::string(value.RegexPattern()) + "/" + std::string(value.RegexOptions());
    case Type::kDbPointer:
      return "DBRef('" + std::string(value.DbPointerNamespace()) + "'," +
             value.DbPointerId().ToHex() + ")";
    case Type::kCode:
      return std::string(value.AsString());
    case Type::kCodeWithScope:
      return "CodeWScope( " + std::string(value.CodeWithScopeCode()) + ", " +
             DocumentText(value.CodeWithScopeScope(), lengths) + ")";
    case Type::kInt32:
    case Type::kInt64:
      return std::to_string(value.AsInt64());
    case Type::kTimestamp:
      return TimestampText(value.AsTimestamp());
    case Type::kDecimal128:
      return decimal::ToString(value.AsDecimal());
    case Type::kMaxKey:
      return "MaxKey";
    case Type::kMinKey:
      return "MinKey";
  }
  return "";
}

}  // namespace quire::bson
