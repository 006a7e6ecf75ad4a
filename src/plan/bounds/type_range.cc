// SPDX-License-Identifier: Apache-2.0
#include "plan/bounds/type_range.h"

#include <limits>

namespace quire::plan {

namespace {

using bson::Type;
using bson::Value;

// Values that a Value cannot be made of directly: regular expressions, DBPointers...
bson::OwnedValue FirstOf(const bson::Document& document) {
  return bson::OwnedValue(document.view().front().value());
}

bson::OwnedValue Lowest(Type type) {
  switch (type) {
    case Type::kDouble:
    case Type::kInt32:
    case Type::kInt64:
    case Type::kDecimal128:
      return bson::OwnedValue(Value(-std::numeric_limits<double>::infinity()));
    case Type::kString:
    case Type::kSymbol:
      return bson::OwnedValue(Value(""));
    case Type::kDocument:
      return bson::OwnedValue(Value(bson::View()));
    case Type::kArray:
      return bson::OwnedValue(Value::Array(bson::View()));
    case Type::kBinary:
      return bson::OwnedValue(Value::Binary("", 0));
    case Type::kObjectId:
      return bson::OwnedValue(Value(bson::ObjectId()));
    case Type::kBool:
      return bson::OwnedValue(Value(false));
    case Type::kDate:
      return bson::OwnedValue(Value(bson::Date{std::numeric_limits<int64_t>::min()}));
    case Type::kTimestamp:
      return bson::OwnedValue(Value(bson::Timestamp{}));
    case Type::kRegex:
      return FirstOf(bson::Builder().AppendRegex("", "", "").Finish());
    case Type::kDbPointer:
      return FirstOf(bson::Builder().AppendDbPointer("", "", bson::ObjectId()).Finish());
    case Type::kCode:
      return bson::OwnedValue(Value::Code(""));
    case Type::kCodeWithScope:
      return FirstOf(bson::Builder().AppendCodeWithScope("", "", bson::View()).Finish());
    case Type::kNull:
      return bson::OwnedValue(Value::Null());
    case Type::kUndefined:
    case Type::kMissing:
      return bson::OwnedValue(Value::Undefined());
    case Type::kMinKey:
    case Type::kMaxKey:
      return bson::OwnedValue(Value::MinKey());
  }
  return {};
}

}  // namespace

LowEnd LowEndFor(Type type) { return {Lowest(type), true}; }

HighEnd HighEndFor(Type type) {
  constexpr uint32_t kMost = std::numeric_limits<uint32_t>::max();
  switch (type) {
    case Type::kDouble:
    case Type::kInt32:
    case Type::kInt64:
    case Type::kDecimal128:
      return {bson::OwnedValue(Value(std::numeric_limits<double>::infinity())), true};
    case Type::kString:
    case Type::kSymbol:
      return {Lowest(Type::kDocument), false};
    case Type::kDocument:
      return {Lowest(Type::kArray), false};
    case Type::kArray:
      return {Lowest(Type::kBinary), false};
    case Type::kBinary:
      return {Lowest(Type::kObjectId), false};
    case Type::kObjectId: {
      bson::ObjectId last;
      last.bytes.fill(0xff);
      return {bson::OwnedValue(Value(last)), true};
    }
    case Type::kBool:
      return {bson::OwnedValue(Value(true)), true};
    case Type::kDate:
      return {bson::OwnedValue(Value(bson::Date{std::numeric_limits<int64_t>::max()})), true};
    case Type::kTimestamp:
      return {bson::OwnedValue(Value(bson::Timestamp{kMost, kMost})), true};
    case Type::kRegex:
      return {Lowest(Type::kDbPointer), false};
    case Type::kDbPointer:
      return {Lowest(Type::kCode), false};
    case Type::kCode:
      return {Lowest(Type::kCodeWithScope), false};
    case Type::kNull:
    case Type::kUndefined:
    case Type::kMissing:
      return {Lowest(type), true};
    case Type::kCodeWithScope:
    case Type::kMinKey:
    case Type::kMaxKey:
      return {bson::OwnedValue(Value::MaxKey()), type != Type::kCodeWithScope};
  }
  return {};
}

}  // namespace quire::plan
