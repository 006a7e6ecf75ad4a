// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstring>

#include "bson/decimal.h"
#include "bson/json/text_forms.h"
#include "plan/bounds/interval.h"

namespace quire::plan {

namespace {

// Sixteen digits and always a sign that it is a double: 5.0, inf.0.
std::string DoubleText(double d) {
  char buffer[40];
  snprintf(buffer, sizeof buffer, "%.16g", d);
  std::string text = buffer;
  if (text.find('.') == std::string::npos) {
    text += ".0";
  }
  return text;
}

std::string Hex(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string text;
  for (char c : bytes) {
    text.push_back(kDigits[static_cast<unsigned char>(c) >> 4]);
    text.push_back(kDigits[static_cast<unsigned char>(c) & 15]);
  }
  return text;
}

std::string Quoted(std::string_view text) { return "\"" + std::string(text) + "\""; }

std::string ArrayText(bson::View array) {
  std::string text = "[";
  for (const bson::Element& element : array) {
    text += text.size() > 1 ? ", " : " ";
    text += ValueText(element.value());
  }
  return text.size() > 1 ? text + " ]" : "[]";
}

}  // namespace

std::string DocumentText(bson::View document) {
  std::string text = "{";
  for (const bson::Element& element : document) {
    text += text.size() > 1 ? ", " : " ";
    text += std::string(element.name()) + ": " + ValueText(element.value());
  }
  return text.size() > 1 ? text + " }" : "{}";
}

std::string ValueText(const bson::Value& value) {
  switch (value.type()) {
    case bson::Type::kMissing:
      return "";
    case bson::Type::kDouble:
      return DoubleText(value.AsDouble());
    case bson::Type::kString:
    case bson::Type::kSymbol:
      return Quoted(value.AsString());
    case bson::Type::kDocument:
      return DocumentText(value.AsDocument());
    case bson::Type::kArray:
      return ArrayText(value.AsArray());
    case bson::Type::kBinary:
      return "BinData(" + std::to_string(value.binary_subtype()) + ", " + Hex(value.AsBinary()) +
             ")";
    case bson::Type::kUndefined:
      return "undefined";
    case bson::Type::kObjectId:
      return "ObjectId('" + value.AsObjectId().ToHex() + "')";
    case bson::Type::kBool:
      return value.AsBool() ? "true" : "false";
    case bson::Type::kDate:
      return "new Date(" + std::to_string(value.AsDate().millis) + ")";
    case bson::Type::kNull:
      return "null";
    case bson::Type::kRegex:
      return "/" + std::string(value.RegexPattern()) + "/" + std::string(value.RegexOptions());
    case bson::Type::kDbPointer:
      return "DBRef('" + std::string(value.DbPointerNamespace()) + "'," +
             value.DbPointerId().ToHex() + ")";
    case bson::Type::kCode:
      return std::string(value.AsString());
    case bson::Type::kCodeWithScope:
      return "CodeWScope( " + std::string(value.CodeWithScopeCode()) + ", " +
             DocumentText(value.CodeWithScopeScope()) + ")";
    case bson::Type::kInt32:
    case bson::Type::kInt64:
      return std::to_string(value.AsInt64());
    case bson::Type::kTimestamp:
      return bson::TimestampText(value.AsTimestamp());
    case bson::Type::kDecimal128:
      return bson::decimal::ToString(value.AsDecimal());
    case bson::Type::kMaxKey:
      return "MaxKey";
    case bson::Type::kMinKey:
      return "MinKey";
  }
  return "";
}

}  // namespace quire::plan
