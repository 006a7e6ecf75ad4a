// SPDX-License-Identifier: Apache-2.0
//
// {$convert: {input, to, onError, onNull, format, byteOrder}}.
#include "base/error_codes.h"
#include "base/try.h"
#include "bson/number.h"
#include "expr/agg/convert_internal.h"
#include "expr/agg/operators_internal.h"
#include "expr/agg/result_internal.h"

namespace quire::expr::agg {

namespace {

enum Argument : size_t { kInput, kTo, kOnError, kOnNull, kFormat, kByteOrder };

// A date whose year has no four digits, converted to a string.
constexpr int kYearOutOfRange = 18537;
constexpr int kStringTooLong = 16493;

constexpr Type kTypes[] = {
    Type::kDouble,    Type::kString,    Type::kDocument, Type::kArray,      Type::kBinary,
    Type::kUndefined, Type::kObjectId,  Type::kBool,     Type::kDate,       Type::kNull,
    Type::kRegex,     Type::kDbPointer, Type::kCode,     Type::kSymbol,     Type::kCodeWithScope,
    Type::kInt32,     Type::kTimestamp, Type::kInt64,    Type::kDecimal128, Type::kMaxKey,
    Type::kMinKey};

Result<Type> ReadType(const Value& to) {
  if (to.is_string()) {
    for (Type type : kTypes) {
      if (bson::TypeName(type) == to.AsString()) {
        return type;
      }
    }
    return Status(kBadValue, "Unknown type name: " + std::string(to.AsString()));
  }
  if (!to.is_number()) {
    return Status(kFailedToParse,
                  "$convert's 'to' argument must be a string or number, but is " + TypeText(to));
  }
  auto code = AsInt32Exact(to);
  if (!code) {
    return Status(kFailedToParse, "In $convert, numeric 'to' argument is not an integer");
  }
  if (*code == 0) {
    return Type::kMissing;
  }
  for (Type type : kTypes) {
    int number = type == Type::kMinKey ? -1 : static_cast<int>(type);
    if (number == *code) {
      return type;
    }
  }
  return Status(
      kFailedToParse,
      "In $convert, numeric value for 'to' does not correspond to a BSON type: " + Show(to));
}

Result<uint8_t> ReadSubtype(const Value& subtype) {
  if (!subtype.is_number()) {
    return Status(4341108,
                  "$convert's 'subtype' argument must be a number, but is " + TypeText(subtype));
  }
  auto n = AsInt32Exact(subtype);
  if (!n) {
    return Status(4341106, "In $convert, numeric 'subtype' argument is not an integer");
  }
  bool known = (*n >= 0 && *n <= 9) || (*n >= 128 && *n <= 255);
  if (!known) {
    return Status(4341107,
                  "In $convert, numeric value for 'subtype' does not correspond to a "
                  "BSON subtype: " +
                      Show(subtype));
  }
  return static_cast<uint8_t>(*n);
}

// False when the target is null.
Result<bool> ReadTarget(const Value& to, ConvertTarget* target) {
  if (!to.is_document()) {
    if (to.nullish()) {
      return false;
    }
    ASSIGN_OR_RETURN(target->type, ReadType(to));
    return true;
  }
  Value type;
  Value subtype;
  for (const bson::Element& element : to.AsDocument()) {
    if (element.name() == "type") {
      type = element.value();
    } else if (element.name() == "subtype") {
      subtype = element.value();
    }
  }
  if (type.missing()) {
    return Status(kFailedToParse, "Missing 'type' parameter to $convert");
  }
  ASSIGN_OR_RETURN(target->type, ReadType(type));
  if (!subtype.missing()) {
    ASSIGN_OR_RETURN(target->subtype, ReadSubtype(subtype));
  }
  return true;
}

Status ReadFormat(const Value& format, ConvertTarget* target) {
  if (format.nullish()) {
    return Status::Ok();
  }
  if (!format.is_string()) {
    return Status(4341114, "$convert requires that 'format' be a string, found: " +
                               TypeText(format) + " with value " + Show(format));
  }
  for (std::string_view known : {"base64", "base64url", "utf8", "hex", "uuid", "auto"}) {
    if (format.AsString() == known) {
      target->format = known;
      return Status::Ok();
    }
  }
  return Status(4341125,
                "Invalid 'format' argument for $convert: " + std::string(format.AsString()));
}

Status ReadByteOrder(const Value& order, ConvertTarget* target) {
  if (order.nullish()) {
    return Status::Ok();
  }
  if (!order.is_string()) {
    return Status(9130001, "$convert requires that 'byteOrder' be a string, found: " +
                               TypeText(order) + " with value " + Show(order));
  }
  if (order.AsString() != "little" && order.AsString() != "big") {
    return Status(9130002,
                  "Invalid 'byteOrder' argument for $convert: " + std::string(order.AsString()));
  }
  target->big_endian = order.AsString() == "big";
  return Status::Ok();
}

}  // namespace

Result<Value> EvalConvert(const Call& call, EvalContext& eval) {
  ASSIGN_OR_RETURN(Value input, call.Get(kInput, eval));
  ASSIGN_OR_RETURN(Value to, call.Get(kTo, eval));
  ConvertTarget target;
  if (input.nullish()) {
    if (!to.is_document()) {
      ASSIGN_OR_RETURN([[maybe_unused]] bool given, ReadTarget(to, &target));
    }
    return call.has(kOnNull) ? call.Get(kOnNull, eval) : Result<Value>(Value::Null());
  }
  ASSIGN_OR_RETURN(bool given, ReadTarget(to, &target));
  if (!given) {
    return Value::Null();
  }
  ASSIGN_OR_RETURN(Value format, call.Get(kFormat, eval));
  ASSIGN_OR_RETURN(Value order, call.Get(kByteOrder, eval));
  RETURN_IF_ERROR(ReadFormat(format, &target));
  RETURN_IF_ERROR(ReadByteOrder(order, &target));
  Result<Value> converted = ConvertTo(input, target, eval);
  if (!converted.ok() && call.has(kOnError)) {
    int code = converted.status().code();
    if (code == kConversionFailure || code == kYearOutOfRange || code == kStringTooLong) {
      return call.Get(kOnError, eval);
    }
  }
  return converted;
}

}  // namespace quire::expr::agg
