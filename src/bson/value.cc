// SPDX-License-Identifier: Apache-2.0
#include "bson/walk/field_walk.h"
#include "quire/bson.h"

namespace quire::bson {

namespace {

template <typename T>
T Load(const char* p) {
  T v;
  memcpy(&v, p, sizeof v);
  return v;
}

template <typename T>
void Store(std::string* out, T v) {
  out->append(reinterpret_cast<const char*>(&v), sizeof v);
}

uint32_t RegexSize(const char* data) {
  size_t pattern = strlen(data);
  return static_cast<uint32_t>(pattern + 1 + strlen(data + pattern + 1) + 1);
}

uint32_t SizeAt(Type type, const char* data) {
  switch (type) {
    case Type::kDouble:
    case Type::kDate:
    case Type::kTimestamp:
    case Type::kInt64:
      return 8;
    case Type::kInt32:
      return 4;
    case Type::kDecimal128:
      return 16;
    case Type::kBool:
      return 1;
    case Type::kObjectId:
      return 12;
    case Type::kString:
    case Type::kCode:
    case Type::kSymbol:
      return 4 + Load<uint32_t>(data);
    case Type::kDocument:
    case Type::kArray:
    case Type::kCodeWithScope:
      return Load<uint32_t>(data);
    case Type::kBinary:
      return 5 + Load<uint32_t>(data);
    case Type::kRegex:
      return RegexSize(data);
    case Type::kDbPointer:
      return 4 + Load<uint32_t>(data) + 12;
    case Type::kMissing:
    case Type::kUndefined:
    case Type::kNull:
    case Type::kMaxKey:
    case Type::kMinKey:
      return 0;
  }
  return 0;
}

}  // namespace

std::string_view TypeName(Type type) {
  switch (type) {
    case Type::kMissing:
      return "missing";
    case Type::kDouble:
      return "double";
    case Type::kString:
      return "string";
    case Type::kDocument:
      return "object";
    case Type::kArray:
      return "array";
    case Type::kBinary:
      return "binData";
    case Type::kUndefined:
      return "undefined";
    case Type::kObjectId:
      return "objectId";
    case Type::kBool:
      return "bool";
    case Type::kDate:
      return "date";
    case Type::kNull:
      return "null";
    case Type::kRegex:
      return "regex";
    case Type::kDbPointer:
      return "dbPointer";
    case Type::kCode:
      return "javascript";
    case Type::kSymbol:
      return "symbol";
    case Type::kCodeWithScope:
      return "javascriptWithScope";
    case Type::kInt32:
      return "int";
    case Type::kTimestamp:
      return "timestamp";
    case Type::kInt64:
      return "long";
    case Type::kDecimal128:
      return "decimal";
    case Type::kMaxKey:
      return "maxKey";
    case Type::kMinKey:
      return "minKey";
  }
  return "unknown";
}

Value Value::FromBytes(Type type, const char* data, uint32_t* size) {
  Value v;
  v.type_ = type;
  uint32_t n = 0;
  switch (type) {
    case Type::kDouble:
      v.u_.f64 = Load<double>(data);
      n = 8;
      break;
    case Type::kDate:
    case Type::kTimestamp:
    case Type::kInt64:
      v.u_.i64 = Load<int64_t>(data);
      n = 8;
      break;
    case Type::kInt32:
      v.u_.i64 = Load<int32_t>(data);
      n = 4;
      break;
    case Type::kBool:
      v.u_.i64 = *data != 0;
      n = 1;
      break;
    case Type::kDecimal128:
      v.u_.decimal = {Load<uint64_t>(data), Load<uint64_t>(data + 8)};
      n = 16;
      break;
    case Type::kObjectId:
      memcpy(v.u_.oid.bytes.data(), data, 12);
      n = 12;
      break;
    case Type::kString:
    case Type::kCode:
    case Type::kSymbol:
      n = Load<uint32_t>(data);
      v.u_.bytes = {data + 4, n - 1};
      n += 4;
      break;
    case Type::kBinary:
      n = Load<uint32_t>(data);
      v.subtype_ = static_cast<uint8_t>(data[4]);
      v.u_.bytes = {data + 5, n};
      n += 5;
      break;
    case Type::kDocument:
    case Type::kArray:
    case Type::kCodeWithScope:
    case Type::kRegex:
    case Type::kDbPointer:
      n = SizeAt(type, data);
      v.u_.bytes = {data, n};
      break;
    case Type::kMissing:
    case Type::kUndefined:
    case Type::kNull:
    case Type::kMaxKey:
    case Type::kMinKey:
      break;
  }
  if (size != nullptr) {
    *size = n;
  }
  return v;
}

std::string_view Value::CodeWithScopeCode() const {
  return {u_.bytes.data + 8, Load<uint32_t>(u_.bytes.data + 4) - 1};
}

View Value::CodeWithScopeScope() const {
  return View(u_.bytes.data + 8 + Load<uint32_t>(u_.bytes.data + 4));
}

std::string_view Value::DbPointerNamespace() const {
  return {u_.bytes.data + 4, Load<uint32_t>(u_.bytes.data) - 1};
}

ObjectId Value::DbPointerId() const {
  ObjectId id;
  memcpy(id.bytes.data(), u_.bytes.data + u_.bytes.size - 12, 12);
  return id;
}

bool Value::BinaryEquals(const Value& other) const {
  if (type_ != other.type_) {
    return false;
  }
  switch (type_) {
    case Type::kDouble:
    case Type::kBool:
    case Type::kDate:
    case Type::kInt32:
    case Type::kTimestamp:
    case Type::kInt64:
      return u_.i64 == other.u_.i64;
    case Type::kDecimal128:
      return u_.decimal == other.u_.decimal;
    case Type::kObjectId:
      return u_.oid == other.u_.oid;
    case Type::kBinary:
      return subtype_ == other.subtype_ && bytes() == other.bytes();
    case Type::kString:
    case Type::kDocument:
    case Type::kArray:
    case Type::kRegex:
    case Type::kDbPointer:
    case Type::kCode:
    case Type::kSymbol:
    case Type::kCodeWithScope:
      return bytes() == other.bytes();
    case Type::kMissing:
    case Type::kUndefined:
    case Type::kNull:
    case Type::kMaxKey:
    case Type::kMinKey:
      return true;
  }
  return false;
}

void Value::AppendTo(std::string* out) const {
  switch (type_) {
    case Type::kDouble:
    case Type::kDate:
    case Type::kTimestamp:
    case Type::kInt64:
      Store(out, u_.i64);
      break;
    case Type::kInt32:
      Store(out, static_cast<int32_t>(u_.i64));
      break;
    case Type::kBool:
      out->push_back(u_.i64 != 0 ? '\1' : '\0');
      break;
    case Type::kDecimal128:
      Store(out, u_.decimal.low);
      Store(out, u_.decimal.high);
      break;
    case Type::kObjectId:
      out->append(reinterpret_cast<const char*>(u_.oid.bytes.data()), 12);
      break;
    case Type::kString:
    case Type::kCode:
    case Type::kSymbol:
      Store(out, u_.bytes.size + 1);
      out->append(u_.bytes.data, u_.bytes.size);
      out->push_back('\0');
      break;
    case Type::kBinary:
      Store(out, u_.bytes.size);
      out->push_back(static_cast<char>(subtype_));
      out->append(u_.bytes.data, u_.bytes.size);
      break;
    case Type::kDocument:
    case Type::kArray:
    case Type::kCodeWithScope:
    case Type::kRegex:
    case Type::kDbPointer:
      out->append(u_.bytes.data, u_.bytes.size);
      break;
    case Type::kMissing:
    case Type::kUndefined:
    case Type::kNull:
    case Type::kMaxKey:
    case Type::kMinKey:
      break;
  }
}

uint32_t Value::EncodedSize() const {
  switch (type_) {
    case Type::kString:
    case Type::kCode:
    case Type::kSymbol:
    case Type::kBinary:
      return u_.bytes.size + 5;
    case Type::kDocument:
    case Type::kArray:
    case Type::kCodeWithScope:
    case Type::kRegex:
    case Type::kDbPointer:
      return u_.bytes.size;
    default:
      return SizeAt(type_, nullptr);
  }
}

uint32_t Element::VariableSize() const { return SizeAt(type(), value_data()); }

const char View::kEmptyBytes[5] = {5, 0, 0, 0, 0};

Element View::Find(std::string_view name) const {
  const FieldName wanted(name);
  for (FieldWalk field(*this); field.valid(); field.Next()) {
    if (field.Is(wanted)) {
      return field.element();
    }
  }
  return {};
}

size_t View::Count() const {
  size_t n = 0;
  for (FieldWalk field(*this); field.valid(); field.Next()) {
    ++n;
  }
  return n;
}

OwnedValue::OwnedValue(const Value& value) : type_(value.type()) { value.AppendTo(&bytes_); }

Value OwnedValue::value() const& { return Value::FromBytes(type_, bytes_.data()); }

}  // namespace quire::bson
