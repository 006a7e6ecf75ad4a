// SPDX-License-Identifier: Apache-2.0
#include "expr/type_set.h"

#include <string>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/number.h"

namespace quire::expr::match {
namespace {

using bson::Type;

// In the order of their codes, as $type is shown.
constexpr Type kTypes[] = {
    Type::kMinKey,        Type::kDouble,    Type::kString,    Type::kDocument, Type::kArray,
    Type::kBinary,        Type::kUndefined, Type::kObjectId,  Type::kBool,     Type::kDate,
    Type::kNull,          Type::kRegex,     Type::kDbPointer, Type::kCode,     Type::kSymbol,
    Type::kCodeWithScope, Type::kInt32,     Type::kTimestamp, Type::kInt64,    Type::kDecimal128,
    Type::kMaxKey};

int Code(Type type) { return type == Type::kMinKey ? -1 : static_cast<int>(type); }

bool IsNumber(Type type) {
  return type == Type::kDouble || type == Type::kInt32 || type == Type::kInt64 ||
         type == Type::kDecimal128;
}

std::optional<Type> TypeOfCode(int64_t code) {
  for (Type type : kTypes) {
    if (Code(type) == code) {
      return type;
    }
  }
  return std::nullopt;
}

Status BadCode(const bson::Value& code) {
  return Status(kBadValue, "Invalid numerical type code: " + bson::ToJson(code));
}

}  // namespace

uint32_t TypeSet::Bit(Type type) {
  switch (type) {
    case Type::kMinKey:
      return uint32_t{1} << 31;
    case Type::kMaxKey:
      return uint32_t{1} << 30;
    case Type::kMissing:
      return 0;
    default: {
      const auto code = static_cast<uint8_t>(type);
      return code < 30 ? uint32_t{1} << code : 0;  // beyond is no type
    }
  }
}

void TypeSet::AddNumbers() {
  number_name_ = true;
  for (Type type : kTypes) {
    if (IsNumber(type)) {
      Add(type);
    }
  }
}

void TypeSet::AppendTo(std::string_view name, bson::Builder* out) const {
  out->BeginArray(name);
  if (number_name_) {
    out->Push("number");
  }
  for (Type type : kTypes) {
    if (Has(type) && !(number_name_ && IsNumber(type))) {
      out->Push(Code(type));
    }
  }
  out->End();
}

std::optional<Type> TypeOfAlias(std::string_view alias) {
  for (Type type : kTypes) {
    if (bson::TypeName(type) == alias) {
      return type;
    }
  }
  return std::nullopt;
}

Status TypeSet::AddNamed(const bson::Value& name) {
  if (name.is_string()) {
    if (name.AsString() == "number") {
      AddNumbers();
      return Status::Ok();
    }
    std::optional<Type> type = TypeOfAlias(name.AsString());
    if (!type) {
      return Status(kBadValue, "Unknown type name alias: " + std::string(name.AsString()));
    }
    Add(*type);
    return Status::Ok();
  }
  if (!name.is_number()) {
    return Status(kTypeMismatch, "type must be represented as a number or a string");
  }
  std::optional<int64_t> code = bson::ExactInt64(name);
  if (!code) {
    return BadCode(name);
  }
  if (*code == 0) {
    return Status(kBadValue, "Invalid numerical type code: 0. Instead use {$exists:false}.");
  }
  std::optional<Type> type = TypeOfCode(*code);
  if (!type) {
    return BadCode(name);
  }
  Add(*type);
  return Status::Ok();
}

Result<TypeSet> ParseTypeSet(const bson::Value& spec) {
  TypeSet types;
  if (!spec.is_array()) {
    RETURN_IF_ERROR(types.AddNamed(spec));
    return types;
  }
  for (const bson::Element& element : spec.AsArray()) {
    RETURN_IF_ERROR(types.AddNamed(element.value()));
  }
  return types;
}

}  // namespace quire::expr::match
