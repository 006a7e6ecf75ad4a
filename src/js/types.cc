// SPDX-License-Identifier: Apache-2.0
//
// MongoDB's types in scripts: one native class whose objects hold a value's BSON bytes, with a
// constructor and a prototype per type.
#include <js/CallAndConstruct.h>
#include <js/Class.h>
#include <js/Conversions.h>
#include <js/Date.h>
#include <js/Object.h>
#include <js/PropertySpec.h>

#include <cmath>

#include "bson/decimal.h"
#include "bson/json/text_forms.h"
#include "bson/number.h"
#include "js/convert_internal.h"
#include "js/document_internal.h"

namespace quire::js {

namespace {

using bson::Type;
using bson::Value;

enum Slot : uint32_t { kTypeSlot, kBytesSlot, kSlots };

constexpr JSClass kTypedClass = {
    "Object", JSCLASS_HAS_RESERVED_SLOTS(kSlots), nullptr, nullptr, nullptr, nullptr};

bool Return(JSContext* cx, const JS::CallArgs& args, std::string_view text) {
  JSString* string = NewText(cx, text);
  if (string == nullptr) {
    return false;
  }
  args.rval().setString(string);
  return true;
}

bool ReturnTyped(JSContext* cx, const JS::CallArgs& args, Kind kind, const Value& value) {
  JSObject* object = NewTyped(cx, kind, value);
  if (object == nullptr) {
    return false;
  }
  args.rval().setObject(*object);
  return true;
}

// The value of `this`; an exception is pending when it is not of the type.
Value Self(JSContext* cx, const JS::CallArgs& args, Type type, std::string* bytes) {
  if (args.thisv().isObject()) {
    Value value = TypedValue(cx, &args.thisv().toObject(), bytes);
    if (value.type() == type || (type == Type::kCode && value.type() == Type::kCodeWithScope)) {
      return value;
    }
  }
  Throw(cx, "called on a value of another type than " + std::string(bson::TypeName(type)));
  return Value();
}

// The text of an argument; "" when it is not given.
bool TextArgument(JSContext* cx, const JS::CallArgs& args, unsigned index, std::string* text) {
  if (!args.hasDefined(index)) {
    return true;
  }
  JS::RootedString string(cx, JS::ToString(cx, args[index]));
  return string != nullptr && AppendText(cx, string, text);
}

// ------------------------------------------------------------------ ObjectId
bool NewObjectId(JSContext* cx, unsigned argc, JS::Value* vp) {
  JS::CallArgs args = JS::CallArgsFromVp(argc, vp);
  std::string text;
  if (args.length() == 0) {
    return ReturnTyped(cx, args, Kind::kObjectId, Value(bson::ObjectId::Generate()));
  }
  if (args[0].isObject()) {
    std::string bytes;
    Value value = TypedValue(cx, &args[0].toObject(), &bytes);
    if (value.type() == Type::kObjectId) {
      return ReturnTyped(cx, args, Kind::kObjectId, value);
    }
  }
  if (!TextArgument(cx, args, 0, &text)) {
    return false;
  }
  auto id = bson::ObjectId::FromHex(text);
  return id ? ReturnTyped(cx, args, Kind::kObjectId, Value(*id))
            : Throw(cx, "invalid object id: length");
}

bool ObjectIdStr(JSContext* cx, unsigned argc, JS::Value* vp) {
  JS::CallArgs args = JS::CallArgsFromVp(argc, vp);
  std::string bytes;
  Value self = Self(cx, args, Type::kObjectId, &bytes);
  return !self.missing() && Return(cx, args, self.AsObjectId().ToHex());
}

bool ObjectIdToString(JSContext* cx, unsigned argc, JS::Value* vp) {
  JS::CallArgs args = JS::CallArgsFromVp(argc, vp);
  std::string bytes;
  Value self = Self(cx, args, Type::kObjectId, &bytes);
  return !self.missing() && Return(cx, args, "ObjectId(\"" + self.AsObjectId().ToHex() + "\")");
}

bool ObjectIdTimestamp(JSContext* cx, unsigned argc, JS::Value* vp) {
  JS::CallArgs args = JS::CallArgsFromVp(argc, vp);
  std::string bytes;
  Value self = Self(cx, args, Type::kObjectId, &bytes);
  if (self.missing()) {
    return false;
  }
  double seconds = 0;
  for (size_t i = 0; i < 4; ++i) {
    seconds = seconds * 256 + self.AsObjectId().bytes[i];
  }
  JSObject* date = JS::NewDateObject(cx, JS::TimeClip(seconds * 1000));
  if (date == nullptr) {
    return false;
  }
  args.rval().setObject(*date);
  return true;
}

// ------------------------------------------------------------------ numbers
// The 64-bit number an argument stands for: a number, its text, or one of MongoDB's numbers.
bool WholeArgument(JSContext* cx, const JS::CallArgs& args, std::string_view type, int64_t* out) {
  *out = 0;
  if (!args.hasDefined(0)) {
    return true;
  }
  if (args[0].isObject()) {
    std::string bytes;
    Value value = TypedValue(cx, &args[0].toObject(), &bytes);
    if (value.type() == Type::kInt64 || value.type() == Type::kInt32) {
      *out = value.AsInt64();
      return true;
    }
  }
  if (args[0].isString()) {
    std::string text;
    if (!TextArgument(cx, args, 0, &text)) {
      return false;
    }
    char* end = nullptr;
    errno = 0;
    *out = strtoll(text.c_str(), &end, 10);
    return (*end == '\0' && !text.empty() && errno == 0) ||
           Throw(cx, "could not convert \"" + text + "\" to " + std::string(type));
  }
  double number = 0;
  if (!JS::ToNumber(cx, args[0], &number)) {
    return false;
  }
  if (std::isnan(number)) {
    return true;
  }
  constexpr double kLimit = 9223372036854775808.0;
  *out = number >= kLimit ? INT64_MAX : number < -kLimit ? INT64_MIN : static_cast<int64_t>(number);
  return true;
}

bool NewNumberLong(JSContext* cx, unsigned argc, JS::Value* vp) {
  JS::CallArgs args = JS::CallArgsFromVp(argc, vp);
  int64_t number = 0;
  if (args.length() == 3) {  // (approximation, high, low)
    uint32_t high = 0;
    uint32_t low = 0;
    if (!JS::ToUint32(cx, args[1], &high) || !JS::ToUint32(cx, args[2], &low)) {
      return false;
    }
    number = static_cast<int64_t>((static_cast<uint64_t>(high) << 32) | low);
  } else if (!WholeArgument(cx, args, "NumberLong", &number)) {
    return false;
  }
  return ReturnTyped(cx, args, Kind::kNumberLong, Value(number));
}

bool NumberLongValue(JSContext* cx, unsigned argc, JS::Value* vp) {
  JS::CallArgs args = JS::CallArgsFromVp(argc, vp);
  std::string bytes;
  Value self = Self(cx, args, Type::kInt64, &bytes);
  args.rval().setNumber(static_cast<double>(self.missing() ? 0 : self.AsInt64()));
  return !self.missing();
}

bool NumberLongToString(JSContext* cx, unsigned argc, JS::Value* vp) {
  JS::CallArgs args = JS::CallArgsFromVp(argc, vp);
  std::string bytes;
  Value self = Self(cx, args, Type::kInt64, &bytes);
  if (self.missing()) {
    return false;
  }
  constexpr int64_t kExact = int64_t{1} << 53;
  std::string digits = std::to_string(self.AsInt64());
  bool exact = self.AsInt64() > -kExact && self.AsInt64() < kExact;
  return Return(cx, args, exact ? "NumberLong(" + digits + ")" : "NumberLong(\"" + digits + "\")");
}

bool NumberLongCompare(JSContext* cx, unsigned argc, JS::Value* vp) {
  JS::CallArgs args = JS::CallArgsFromVp(argc, vp);
  std::string bytes;
  std::string other_bytes;
  Value self = Self(cx, args, Type::kInt64, &bytes);
  if (self.missing()) {
    return false;
  }
  Value other =
      args.get(0).isObject() ? TypedValue(cx, &args.get(0).toObject(), &other_bytes) : Value();
  if (other.type() != Type::kInt64) {
    return Throw(cx, "NumberLong.compare() needs a NumberLong");
  }
  int64_t a = self.AsInt64();
  int64_t b = other.AsInt64();
  args.rval().setInt32(a < b ? -1 : a > b ? 1 : 0);
  return true;
}

bool NumberLongTop(JSContext* cx, unsigned argc, JS::Value* vp) {
  JS::CallArgs args = JS::CallArgsFromVp(argc, vp);
  std::string bytes;
  Value self = Self(cx, args, Type::kInt64, &bytes);
  args.rval().setNumber(static_cast<double>(self.missing() ? 0 : self.AsInt64() >> 32));
  return !self.missing();
}

bool NumberLongBottom(JSContext* cx, unsigned argc, JS::Value* vp) {
  JS::CallArgs args = JS::CallArgsFromVp(argc, vp);
  std::string bytes;
  Value self = Self(cx, args, Type::kInt64, &bytes);
  args.rval().setNumber(
      static_cast<double>(self.missing() ? 0 : static_cast<uint32_t>(self.AsInt64())));
  return !self.missing();
}

bool NewNumberInt(JSContext* cx, unsigned argc, JS::Value* vp) {
  JS::CallArgs args = JS::CallArgsFromVp(argc, vp);
  int64_t number = 0;
  return WholeArgument(cx, args, "NumberInt", &number) &&
         ReturnTyped(cx, args, Kind::kNumberInt, Value(static_cast<int32_t>(number)));
}

bool NumberIntValue(JSContext* cx, unsigned argc, JS::Value* vp) {
  JS::CallArgs args = JS::CallArgsFromVp(argc, vp);
  std::string bytes;
  Value self = Self(cx, args, Type::kInt32, &bytes);
  args.rval().setInt32(self.missing() ? 0 : self.AsInt32());
  return !self.missing();
}

bool NumberIntToString(JSContext* cx, unsigned argc, JS::Value* vp) {
  JS::CallArgs args = JS::CallArgsFromVp(argc, vp);
  std::string bytes;
  Value self = Self(cx, args, Type::kInt32, &bytes);
  return !self.missing() && Return(cx, args, "NumberInt(" + std::to_string(self.AsInt32()) + ")");
}

bool NewNumberDecimal(JSContext* cx, unsigned argc, JS::Value* vp) {
  JS::CallArgs args = JS::CallArgsFromVp(argc, vp);
  std::string text;
  if (args.length() == 0) {
    text = "0";
  } else if (args[0].isNumber()) {
    return ReturnTyped(cx, args, Kind::kNumberDecimal,
                       Value(bson::decimal::FromDouble(args[0].toNumber())));
  } else if (args[0].isObject()) {
    std::string bytes;
    Value value = TypedValue(cx, &args[0].toObject(), &bytes);
    if (value.is_number()) {
      return ReturnTyped(cx, args, Kind::kNumberDecimal, Value(bson::ToDecimal(value)));
    }
  }
  if (!TextArgument(cx, args, 0, &text)) {
    return false;
  }
  auto decimal = bson::decimal::FromString(text);
  return decimal ? ReturnTyped(cx, args, Kind::kNumberDecimal, Value(*decimal))
                 : Throw(cx, "Input is not a valid Decimal128 value.");
}

bool NumberDecimalToString(JSContext* cx, unsigned argc, JS::Value* vp) {
  JS::CallArgs args = JS::CallArgsFromVp(argc, vp);
  std::string bytes;
  Value self = Self(cx, args, Type::kDecimal128, &bytes);
  return !self.missing() &&
         Return(cx, args, "NumberDecimal(\"" + bson::decimal::ToString(self.AsDecimal()) + "\")");
}

// ------------------------------------------------------------------ Timestamp
bool NewTimestamp(JSContext* cx, unsigned argc, JS::Value* vp) {
  JS::CallArgs args = JS::CallArgsFromVp(argc, vp);
  double parts[2] = {0, 0};
  if (args.length() != 0 && args.length() != 2) {
    return Throw(cx, "Timestamp needs 0 or 2 arguments");
  }
  for (unsigned i = 0; i < args.length(); ++i) {
    if (!args[i].isNumber()) {
      return Throw(cx, "Timestamp's arguments must be numbers");
    }
    parts[i] = args[i].toNumber();
    if (!(parts[i] >= 0 && parts[i] <= 4294967295.0)) {
      return Throw(cx, "Timestamp's arguments must be between 0 and 4294967295");
    }
  }
  bson::Timestamp stamp{static_cast<uint32_t>(parts[0]), static_cast<uint32_t>(parts[1])};
  return ReturnTyped(cx, args, Kind::kTimestamp, Value(stamp));
}

bool TimestampSeconds(JSContext* cx, unsigned argc, JS::Value* vp) {
  JS::CallArgs args = JS::CallArgsFromVp(argc, vp);
  std::string bytes;
  Value self = Self(cx, args, Type::kTimestamp, &bytes);
  args.rval().setNumber(self.missing() ? 0 : self.AsTimestamp().seconds);
  return !self.missing();
}

bool TimestampIncrement(JSContext* cx, unsigned argc, JS::Value* vp) {
  JS::CallArgs args = JS::CallArgsFromVp(argc, vp);
  std::string bytes;
  Value self = Self(cx, args, Type::kTimestamp, &bytes);
  args.rval().setNumber(self.missing() ? 0 : self.AsTimestamp().increment);
  return !self.missing();
}

bool TimestampToString(JSContext* cx, unsigned argc, JS::Value* vp) {
  JS::CallArgs args = JS::CallArgsFromVp(argc, vp);
  std::string bytes;
  Value self = Self(cx, args, Type::kTimestamp, &bytes);
  return !self.missing() && Return(cx, args, bson::TimestampText(self.AsTimestamp()));
}

// ------------------------------------------------------------------ BinData
int HexDigit(char c) {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  c = static_cast<char>(c | 0x20);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

std::optional<std::string> FromHex(std::string_view text) {
  if (text.size() % 2 != 0) {
    return std::nullopt;
  }
  std::string bytes;
  for (size_t i = 0; i < text.size(); i += 2) {
    int high = HexDigit(text[i]);
    int low = HexDigit(text[i + 1]);
    if (high < 0 || low < 0) {
      return std::nullopt;
    }
    bytes.push_back(static_cast<char>(high << 4 | low));
  }
  return bytes;
}

std::string ToHex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (char c : bytes) {
    text.push_back(kDigits[static_cast<uint8_t>(c) >> 4]);
    text.push_back(kDigits[static_cast<uint8_t>(c) & 15]);
  }
  return text;
}

bool ReturnBinary(JSContext* cx, const JS::CallArgs& args, double subtype,
                  const std::optional<std::string>& bytes) {
  if (!(subtype >= 0 && subtype <= 255)) {
    return Throw(cx, "BinData subtype must be between 0 and 255");
  }
  if (!bytes) {
    return Throw(cx, "invalid text of binary data");
  }
  return ReturnTyped(cx, args, Kind::kBinData,
                     Value::Binary(std::string_view(*bytes), static_cast<uint8_t>(subtype)));
}

bool NewBinData(JSContext* cx, unsigned argc, JS::Value* vp) {
  JS::CallArgs args = JS::CallArgsFromVp(argc, vp);
  double subtype = 0;
  std::string text;
  return JS::ToNumber(cx, args.get(0), &subtype) && TextArgument(cx, args, 1, &text) &&
         ReturnBinary(cx, args, subtype, bson::FromBase64(text));
}

bool NewHexData(JSContext* cx, unsigned argc, JS::Value* vp) {
  JS::CallArgs args = JS::CallArgsFromVp(argc, vp);
  double subtype = 0;
  std::string text;
  return JS::ToNumber(cx, args.get(0), &subtype) && TextArgument(cx, args, 1, &text) &&
         ReturnBinary(cx, args, subtype, FromHex(text));
}

bool NewUuid(JSContext* cx, unsigned argc, JS::Value* vp) {
  JS::CallArgs args = JS::CallArgsFromVp(argc, vp);
  std::string text;
  if (!TextArgument(cx, args, 0, &text)) {
    return false;
  }
  std::erase(text, '-');
  if (text.size() != 32) {
    return Throw(cx, "UUID string must have 32 hexadecimal digits");
  }
  return ReturnBinary(cx, args, 4, FromHex(text));
}

bool NewMd5(JSContext* cx, unsigned argc, JS::Value* vp) {
  JS::CallArgs args = JS::CallArgsFromVp(argc, vp);
  std::string text;
  if (!TextArgument(cx, args, 0, &text)) {
    return false;
  }
  return text.size() == 32 ? ReturnBinary(cx, args, 5, FromHex(text))
                           : Throw(cx, "MD5 string must have 32 characters");
}

bool BinDataBase64(JSContext* cx, unsigned argc, JS::Value* vp) {
  JS::CallArgs args = JS::CallArgsFromVp(argc, vp);
  std::string bytes;
  Value self = Self(cx, args, Type::kBinary, &bytes);
  return !self.missing() && Return(cx, args, bson::ToBase64(self.AsBinary()));
}

bool BinDataHex(JSContext* cx, unsigned argc, JS::Value* vp) {
  JS::CallArgs args = JS::CallArgsFromVp(argc, vp);
  std::string bytes;
  Value self = Self(cx, args, Type::kBinary, &bytes);
  return !self.missing() && Return(cx, args, ToHex(self.AsBinary()));
}

bool BinDataSubtype(JSContext* cx, unsigned argc, JS::Value* vp) {
  JS::CallArgs args = JS::CallArgsFromVp(argc, vp);
  std::string bytes;
  Value self = Self(cx, args, Type::kBinary, &bytes);
  args.rval().setInt32(self.missing() ? 0 : self.binary_subtype());
  return !self.missing();
}

bool BinDataLength(JSContext* cx, unsigned argc, JS::Value* vp) {
  JS::CallArgs args = JS::CallArgsFromVp(argc, vp);
  std::string bytes;
  Value self = Self(cx, args, Type::kBinary, &bytes);
  args.rval().setInt32(self.missing() ? 0 : static_cast<int32_t>(self.AsBinary().size()));
  return !self.missing();
}

bool BinDataToString(JSContext* cx, unsigned argc, JS::Value* vp) {
  JS::CallArgs args = JS::CallArgsFromVp(argc, vp);
  std::string bytes;
  Value self = Self(cx, args, Type::kBinary, &bytes);
  if (self.missing()) {
    return false;
  }
  if (self.binary_subtype() == 4 && self.AsBinary().size() == 16) {
    std::string hex = ToHex(self.AsBinary());
    for (size_t at : {20, 16, 12, 8}) {
      hex.insert(at, "-");
    }
    return Return(cx, args, "UUID(\"" + hex + "\")");
  }
  return Return(cx, args,
                "BinData(" + std::to_string(self.binary_subtype()) + ",\"" +
                    bson::ToBase64(self.AsBinary()) + "\")");
}

// ------------------------------------------------------------------ keys, code, pointers
bool NewMinKey(JSContext* cx, unsigned argc, JS::Value* vp) {
  return ReturnTyped(cx, JS::CallArgsFromVp(argc, vp), Kind::kMinKey, Value::MinKey());
}

bool NewMaxKey(JSContext* cx, unsigned argc, JS::Value* vp) {
  return ReturnTyped(cx, JS::CallArgsFromVp(argc, vp), Kind::kMaxKey, Value::MaxKey());
}

bool MinKeyToString(JSContext* cx, unsigned argc, JS::Value* vp) {
  return Return(cx, JS::CallArgsFromVp(argc, vp), "{ \"$minKey\" : 1 }");
}

bool MaxKeyToString(JSContext* cx, unsigned argc, JS::Value* vp) {
  return Return(cx, JS::CallArgsFromVp(argc, vp), "{ \"$maxKey\" : 1 }");
}

bool NewCode(JSContext* cx, unsigned argc, JS::Value* vp) {
  JS::CallArgs args = JS::CallArgsFromVp(argc, vp);
  std::string text;
  if (!TextArgument(cx, args, 0, &text)) {
    return false;
  }
  if (!args.get(1).isObject()) {
    return ReturnTyped(cx, args, Kind::kCode, Value::Code(std::string_view(text)));
  }
  bson::Builder scope;
  bson::Builder code;
  if (!AppendField(cx, "s", args[1], Value(), 0, &scope)) {
    return false;
  }
  bson::Document document = scope.Finish();
  if (!document["s"].is_document()) {
    return Throw(cx, "the scope of Code must be an object");
  }
  code.AppendCodeWithScope("c", text, document["s"].AsDocument());
  bson::Document held = code.Finish();
  return ReturnTyped(cx, args, Kind::kCode, held["c"]);
}

bool CodeText(JSContext* cx, unsigned argc, JS::Value* vp) {
  JS::CallArgs args = JS::CallArgsFromVp(argc, vp);
  std::string bytes;
  Value self = Self(cx, args, Type::kCode, &bytes);
  return !self.missing() &&
         Return(cx, args, self.type() == Type::kCode ? self.AsString() : self.CodeWithScopeCode());
}

bool CodeScope(JSContext* cx, unsigned argc, JS::Value* vp) {
  JS::CallArgs args = JS::CallArgsFromVp(argc, vp);
  std::string bytes;
  Value self = Self(cx, args, Type::kCode, &bytes);
  return !self.missing() &&
         ToJs(cx,
              self.type() == Type::kCode ? Value::Undefined() : Value(self.CodeWithScopeScope()),
              args.rval());
}

bool NewDbPointer(JSContext* cx, unsigned argc, JS::Value* vp) {
  JS::CallArgs args = JS::CallArgsFromVp(argc, vp);
  std::string ns;
  std::string bytes;
  if (!TextArgument(cx, args, 0, &ns)) {
    return false;
  }
  Value id = args.get(1).isObject() ? TypedValue(cx, &args[1].toObject(), &bytes) : Value();
  if (id.type() != Type::kObjectId) {
    return Throw(cx, "the second argument of DBPointer must be an ObjectId");
  }
  bson::Builder out;
  out.AppendDbPointer("p", ns, id.AsObjectId());
  bson::Document held = out.Finish();
  return ReturnTyped(cx, args, Kind::kDbPointer, held["p"]);
}

bool DbPointerToString(JSContext* cx, unsigned argc, JS::Value* vp) {
  JS::CallArgs args = JS::CallArgsFromVp(argc, vp);
  std::string bytes;
  Value self = Self(cx, args, Type::kDbPointer, &bytes);
  return !self.missing() && Return(cx, args,
                                   "DBPointer(\"" + std::string(self.DbPointerNamespace()) +
                                       "\", ObjectId(\"" + self.DbPointerId().ToHex() + "\"))");
}

// obj.equals(other): the same type and bytes.
bool TypedEquals(JSContext* cx, unsigned argc, JS::Value* vp) {
  JS::CallArgs args = JS::CallArgsFromVp(argc, vp);
  std::string a;
  std::string b;
  bool equal = false;
  if (args.thisv().isObject() && args.get(0).isObject()) {
    Value self = TypedValue(cx, &args.thisv().toObject(), &a);
    Value other = TypedValue(cx, &args[0].toObject(), &b);
    equal = !self.missing() && self.BinaryEquals(other);
  }
  args.rval().setBoolean(equal);
  return true;
}

constexpr JSFunctionSpec kObjectIdMethods[] = {
    JS_FN("toString", ObjectIdToString, 0, 0), JS_FN("valueOf", ObjectIdStr, 0, 0),
    JS_FN("getTimestamp", ObjectIdTimestamp, 0, 0), JS_FN("equals", TypedEquals, 1, 0), JS_FS_END};
constexpr JSPropertySpec kObjectIdFields[] = {JS_PSG("str", ObjectIdStr, 0), JS_PS_END};
constexpr JSFunctionSpec kNumberLongMethods[] = {
    JS_FN("toString", NumberLongToString, 0, 0), JS_FN("valueOf", NumberLongValue, 0, 0),
    JS_FN("toNumber", NumberLongValue, 0, 0),    JS_FN("compare", NumberLongCompare, 1, 0),
    JS_FN("equals", TypedEquals, 1, 0),          JS_FS_END};
constexpr JSPropertySpec kNumberLongFields[] = {JS_PSG("floatApprox", NumberLongValue, 0),
                                                JS_PSG("top", NumberLongTop, 0),
                                                JS_PSG("bottom", NumberLongBottom, 0), JS_PS_END};
constexpr JSFunctionSpec kNumberIntMethods[] = {
    JS_FN("toString", NumberIntToString, 0, 0), JS_FN("valueOf", NumberIntValue, 0, 0),
    JS_FN("toNumber", NumberIntValue, 0, 0), JS_FN("equals", TypedEquals, 1, 0), JS_FS_END};
constexpr JSFunctionSpec kNumberDecimalMethods[] = {JS_FN("toString", NumberDecimalToString, 0, 0),
                                                    JS_FN("equals", TypedEquals, 1, 0), JS_FS_END};
constexpr JSFunctionSpec kTimestampMethods[] = {
    JS_FN("toString", TimestampToString, 0, 0), JS_FN("getTime", TimestampSeconds, 0, 0),
    JS_FN("getInc", TimestampIncrement, 0, 0), JS_FN("equals", TypedEquals, 1, 0), JS_FS_END};
constexpr JSPropertySpec kTimestampFields[] = {JS_PSG("t", TimestampSeconds, 0),
                                               JS_PSG("i", TimestampIncrement, 0), JS_PS_END};
constexpr JSFunctionSpec kBinDataMethods[] = {JS_FN("toString", BinDataToString, 0, 0),
                                              JS_FN("base64", BinDataBase64, 0, 0),
                                              JS_FN("hex", BinDataHex, 0, 0),
                                              JS_FN("subtype", BinDataSubtype, 0, 0),
                                              JS_FN("length", BinDataLength, 0, 0),
                                              JS_FN("equals", TypedEquals, 1, 0),
                                              JS_FS_END};
constexpr JSPropertySpec kBinDataFields[] = {JS_PSG("type", BinDataSubtype, 0),
                                             JS_PSG("len", BinDataLength, 0), JS_PS_END};
constexpr JSFunctionSpec kMinKeyMethods[] = {JS_FN("toString", MinKeyToString, 0, 0), JS_FS_END};
constexpr JSFunctionSpec kMaxKeyMethods[] = {JS_FN("toString", MaxKeyToString, 0, 0), JS_FS_END};
constexpr JSFunctionSpec kCodeMethods[] = {JS_FN("toString", CodeText, 0, 0), JS_FS_END};
constexpr JSPropertySpec kCodeFields[] = {JS_PSG("code", CodeText, 0),
                                          JS_PSG("scope", CodeScope, 0), JS_PS_END};
constexpr JSFunctionSpec kDbPointerMethods[] = {JS_FN("toString", DbPointerToString, 0, 0),
                                                JS_FS_END};

// Every type, with its constructor and what its prototype holds.
struct TypeRow {
  Kind kind;
  const char* name;
  JSNative construct;
  const JSFunctionSpec* methods;
  const JSPropertySpec* fields;
};
constexpr TypeRow kTypes[] = {
    {Kind::kObjectId, "ObjectId", NewObjectId, kObjectIdMethods, kObjectIdFields},
    {Kind::kNumberLong, "NumberLong", NewNumberLong, kNumberLongMethods, kNumberLongFields},
    {Kind::kNumberInt, "NumberInt", NewNumberInt, kNumberIntMethods, nullptr},
    {Kind::kNumberDecimal, "NumberDecimal", NewNumberDecimal, kNumberDecimalMethods, nullptr},
    {Kind::kTimestamp, "Timestamp", NewTimestamp, kTimestampMethods, kTimestampFields},
    {Kind::kBinData, "BinData", NewBinData, kBinDataMethods, kBinDataFields},
    {Kind::kMinKey, "MinKey", NewMinKey, kMinKeyMethods, nullptr},
    {Kind::kMaxKey, "MaxKey", NewMaxKey, kMaxKeyMethods, nullptr},
    {Kind::kCode, "Code", NewCode, kCodeMethods, kCodeFields},
    {Kind::kDbPointer, "DBPointer", NewDbPointer, kDbPointerMethods, nullptr},
};

constexpr JSFunctionSpec kMakers[] = {JS_FN("HexData", NewHexData, 2, 0),
                                      JS_FN("UUID", NewUuid, 1, 0), JS_FN("MD5", NewMd5, 1, 0),
                                      JS_FS_END};

bool DefineType(JSContext* cx, const TypeRow& row, JS::HandleObject global, Realm* realm) {
  JS::RootedObject prototype(cx, JS_NewPlainObject(cx));
  if (prototype == nullptr || !JS_DefineFunctions(cx, prototype, row.methods) ||
      (row.fields != nullptr && !JS_DefineProperties(cx, prototype, row.fields))) {
    return false;
  }
  JSFunction* function =
      JS_DefineFunction(cx, global, row.name, row.construct, 0, JSFUN_CONSTRUCTOR);
  if (function == nullptr) {
    return false;
  }
  JS::RootedObject constructor(cx, JS_GetFunctionObject(function));
  realm->prototypes[static_cast<size_t>(row.kind)] = prototype;
  return JS_LinkConstructorAndPrototype(cx, constructor, prototype);
}

}  // namespace

bool DefineTypes(JSContext* cx, Realm* realm) {
  JS::RootedObject global(cx, realm->global);
  for (const TypeRow& row : kTypes) {
    if (!DefineType(cx, row, global, realm)) {
      return false;
    }
  }
  return JS_DefineFunctions(cx, global, kMakers);
}

JSObject* NewTyped(JSContext* cx, Kind kind, const bson::Value& value) {
  std::string encoded;
  value.AppendTo(&encoded);
  JS::RootedString bytes(cx, JS_NewStringCopyN(cx, encoded.data(), encoded.size()));
  JS::RootedObject prototype(cx, Runtime::Of(cx).realm().prototypes[static_cast<size_t>(kind)]);
  if (bytes == nullptr) {
    return nullptr;
  }
  JSObject* object = JS_NewObjectWithGivenProto(cx, &kTypedClass, prototype);
  if (object != nullptr) {
    JS::SetReservedSlot(object, kTypeSlot, JS::Int32Value(static_cast<int32_t>(value.type())));
    JS::SetReservedSlot(object, kBytesSlot, JS::StringValue(bytes));
  }
  return object;
}

bool IsTyped(JSObject* object) {
  return JS::GetClass(object) == &kTypedClass && JS::GetReservedSlot(object, kBytesSlot).isString();
}

bson::Value TypedValue(JSContext* cx, JSObject* object, std::string* bytes) {
  if (!IsTyped(object)) {
    return Value();
  }
  JS::AutoCheckCannotGC no_gc;
  size_t size = 0;
  const JS::Latin1Char* data = JS_GetLatin1StringCharsAndLength(
      cx, no_gc, JS::GetReservedSlot(object, kBytesSlot).toString(), &size);
  bytes->assign(reinterpret_cast<const char*>(data), size);
  bytes->push_back('\0');  // types without bytes still point to some
  return Value::FromBytes(static_cast<Type>(JS::GetReservedSlot(object, kTypeSlot).toInt32()),
                          bytes->data());
}

}  // namespace quire::js
