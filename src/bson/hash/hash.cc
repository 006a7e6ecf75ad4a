// SPDX-License-Identifier: Apache-2.0
//
// Hashing that agrees with bson::Compare: numbers hash by their value as a double, strings by
// their sort key under a collation. Keyed, as base/keyed_hash.h says.
#include <cmath>

#include "base/keyed_hash.h"
#include "bson/compare.h"
#include "bson/decimal.h"

namespace quire::bson {

namespace {

constexpr int kMaxDepth = 200;

uint64_t HashDouble(double d, uint64_t h) {
  if (std::isnan(d)) {
    return MixHash(h, 1);
  }
  if (d == 0) {
    d = 0;  // -0 equals 0
  }
  uint64_t bits;
  memcpy(&bits, &d, sizeof bits);
  return MixHash(h, bits);
}

uint64_t HashDepth(const Value& value, const StringCompare* strings, uint64_t h, int depth);

uint64_t HashFields(View view, bool names, const StringCompare* strings, uint64_t h, int depth) {
  if (depth >= kMaxDepth) {
    return h;
  }
  for (const Element& e : view) {
    if (names) {
      h = KeyedHash(e.name(), h);
    }
    h = HashDepth(e.value(), strings, h, depth + 1);
  }
  return MixHash(h, static_cast<uint64_t>(depth));
}

uint64_t HashObjectId(const ObjectId& id, uint64_t h) {
  return KeyedHash({reinterpret_cast<const char*>(id.bytes.data()), id.bytes.size()}, h);
}

uint64_t HashDepth(const Value& value, const StringCompare* strings, uint64_t h, int depth) {
  h = MixHash(h, static_cast<uint64_t>(CanonicalType(value.type())));
  switch (value.type()) {
    case Type::kInt32:
    case Type::kInt64:
      return HashDouble(static_cast<double>(value.AsInt64()), h);
    case Type::kDouble:
      return HashDouble(value.AsDouble(), h);
    case Type::kDecimal128:
      return HashDouble(decimal::ToDouble(value.AsDecimal()), h);
    case Type::kString:
    case Type::kSymbol:
      return strings != nullptr ? KeyedHash(strings->SortKey(value.AsString()), h)
                                : KeyedHash(value.AsString(), h);
    case Type::kDocument:
      return HashFields(value.AsDocument(), true, strings, h, depth);
    case Type::kArray:
      return HashFields(value.AsArray(), false, strings, h, depth);
    case Type::kBinary:
      return KeyedHash(value.AsBinary(), MixHash(h, value.binary_subtype()));
    case Type::kObjectId:
      return HashObjectId(value.AsObjectId(), h);
    case Type::kBool:
      return MixHash(h, static_cast<uint64_t>(value.AsBool()));
    case Type::kDate:
    case Type::kTimestamp:
      return MixHash(h, static_cast<uint64_t>(value.AsInt64()));
    case Type::kRegex:
    case Type::kDbPointer:
    case Type::kCode:
      return KeyedHash(value.bytes(), h);
    case Type::kCodeWithScope:
      return HashFields(value.CodeWithScopeScope(), true, nullptr,
                        KeyedHash(value.CodeWithScopeCode(), h), depth);
    case Type::kMissing:
    case Type::kUndefined:
    case Type::kNull:
    case Type::kMinKey:
    case Type::kMaxKey:
      return h;
  }
  return h;
}

}  // namespace

uint64_t Hash(const Value& value, const StringCompare* strings, uint64_t seed) {
  return HashDepth(value, strings, MixHash(seed, 0), 0);
}

}  // namespace quire::bson
