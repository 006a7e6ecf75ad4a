// SPDX-License-Identifier: Apache-2.0
#include <js/Array.h>
#include <js/Date.h>
#include <js/RegExp.h>
#include <js/StableStringChars.h>

#include "js/convert_internal.h"
#include "js/document_internal.h"

namespace quire::js {

namespace {

using bson::Type;
using Bytes = std::shared_ptr<const std::string>;

// The bytes that hold `value`: its top-level document's when there is one, else a copy.
bool Convert(JSContext* cx, const bson::Value& value, Bytes owner, JS::MutableHandleValue out);

bool ConvertArray(JSContext* cx, bson::View array, const Bytes& owner, JS::MutableHandleValue out) {
  JS::RootedValueVector values(cx);
  JS::RootedValue value(cx);
  for (const bson::Element& element : array) {
    if (!Convert(cx, element.value(), owner, &value) || !values.append(value)) {
      return false;
    }
  }
  JSObject* object = JS::NewArrayObject(cx, values);
  if (object == nullptr) {
    return false;
  }
  out.setObject(*object);
  return true;
}

// A reference {$ref, $id} gets the methods of DBRef.
bool ConvertDocument(JSContext* cx, bson::View document, const Bytes& owner,
                     JS::MutableHandleValue out) {
  JSObject* object = NewDocument(cx, document, owner);
  if (object == nullptr) {
    return false;
  }
  out.setObject(*object);
  return true;
}

bool ConvertRegex(JSContext* cx, const bson::Value& value, JS::MutableHandleValue out) {
  JS::RegExpFlags flags(JS::RegExpFlag::NoFlags);
  for (char option : value.RegexOptions()) {
    switch (option) {
      case 'i':
        flags |= JS::RegExpFlag::IgnoreCase;
        break;
      case 'm':
        flags |= JS::RegExpFlag::Multiline;
        break;
      case 's':
        flags |= JS::RegExpFlag::DotAll;
        break;
      case 'u':
        flags |= JS::RegExpFlag::Unicode;
        break;
      default:
        break;  // the language has no such option
    }
  }
  JS::RootedString pattern(cx, NewText(cx, value.RegexPattern()));
  if (pattern == nullptr) {
    return false;
  }
  JS::AutoStableStringChars chars(cx);
  if (!chars.initTwoByte(cx, pattern)) {
    return false;
  }
  JSObject* object =
      JS::NewUCRegExpObject(cx, chars.twoByteChars(), JS_GetStringLength(pattern), flags);
  if (object == nullptr) {
    return false;
  }
  out.setObject(*object);
  return true;
}

// Stored code is a function to scripts.
bool ConvertCode(JSContext* cx, const bson::Value& value, JS::MutableHandleValue out) {
  Result<std::string> text = Runtime::Of(cx).FunctionText(std::string(value.AsString()));
  if (!text.ok()) {
    return Throw(cx, text.status().message());
  }
  return Evaluate(cx, "(" + *text + "\n)", out);
}

bool ConvertString(JSContext* cx, std::string_view text, JS::MutableHandleValue out) {
  JSString* string = NewText(cx, text);
  if (string == nullptr) {
    return false;
  }
  out.setString(string);
  return true;
}

bool ConvertTyped(JSContext* cx, Kind kind, const bson::Value& value, JS::MutableHandleValue out) {
  JSObject* object = NewTyped(cx, kind, value);
  if (object == nullptr) {
    return false;
  }
  out.setObject(*object);
  return true;
}

bool ConvertDate(JSContext* cx, int64_t millis, JS::MutableHandleValue out) {
  JSObject* object = JS::NewDateObject(cx, JS::TimeClip(static_cast<double>(millis)));
  if (object == nullptr) {
    return false;
  }
  out.setObject(*object);
  return true;
}

bool Convert(JSContext* cx, const bson::Value& value, Bytes owner, JS::MutableHandleValue out) {
  switch (value.type()) {
    case Type::kMissing:
    case Type::kUndefined:
      out.setUndefined();
      return true;
    case Type::kNull:
      out.setNull();
      return true;
    case Type::kDouble:
      out.setNumber(value.AsDouble());
      return true;
    case Type::kInt32:
      out.setInt32(value.AsInt32());
      return true;
    case Type::kBool:
      out.setBoolean(value.AsBool());
      return true;
    case Type::kString:
    case Type::kSymbol:
      return ConvertString(cx, value.AsString(), out);
    case Type::kDocument:
    case Type::kArray: {
      bson::View view = value.AsDocument();
      if (owner == nullptr) {
        owner = std::make_shared<const std::string>(view.bytes());
        view = bson::View(owner->data());
      }
      return value.is_array() ? ConvertArray(cx, view, owner, out)
                              : ConvertDocument(cx, view, owner, out);
    }
    case Type::kDate:
      return ConvertDate(cx, value.AsDate().millis, out);
    case Type::kRegex:
      return ConvertRegex(cx, value, out);
    case Type::kCode:
      return ConvertCode(cx, value, out);
    case Type::kCodeWithScope:
      return ConvertTyped(cx, Kind::kCode, value, out);
    case Type::kObjectId:
      return ConvertTyped(cx, Kind::kObjectId, value, out);
    case Type::kInt64:
      return ConvertTyped(cx, Kind::kNumberLong, value, out);
    case Type::kDecimal128:
      return ConvertTyped(cx, Kind::kNumberDecimal, value, out);
    case Type::kTimestamp:
      return ConvertTyped(cx, Kind::kTimestamp, value, out);
    case Type::kBinary:
      return ConvertTyped(cx, Kind::kBinData, value, out);
    case Type::kDbPointer:
      return ConvertTyped(cx, Kind::kDbPointer, value, out);
    case Type::kMinKey:
      return ConvertTyped(cx, Kind::kMinKey, value, out);
    case Type::kMaxKey:
      return ConvertTyped(cx, Kind::kMaxKey, value, out);
  }
  return Throw(cx, "a value of an unknown type");
}

}  // namespace

bool ToJs(JSContext* cx, const bson::Value& value, JS::MutableHandleValue out) {
  return Convert(cx, value, nullptr, out);
}

bool ToJsShared(JSContext* cx, const bson::Value& value, const Bytes& owner,
                JS::MutableHandleValue out) {
  return Convert(cx, value, owner, out);
}

}  // namespace quire::js
