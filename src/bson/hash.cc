// SPDX-License-Identifier: Apache-2.0
//
// Hashing that agrees with bson::Compare: numbers hash by their value as a double, strings by
// their sort key under a collation.
#include <cmath>

#include "bson/compare.h"
#include "bson/decimal.h"

namespace quire::bson {

namespace {

constexpr uint64_t kOdd1 = 0x9e3779b97f4a7c15;
constexpr uint64_t kOdd2 = 0xd6e8feb86659fd93;
constexpr int kMaxDepth = 200;

// Folds the 128-bit product: every input bit reaches every output bit. Neither a == kOdd1 nor
// b == kOdd2 may be a habit: the product is 0 then.
uint64_t Mix(uint64_t a, uint64_t b) {
  auto product = static_cast<unsigned __int128>(a ^ kOdd1) * (b ^ kOdd2);
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

uint64_t HashBytes(std::string_view bytes, uint64_t h) {
  const char* p = bytes.data();
  size_t left = bytes.size();
  uint64_t word;
  for (; left >= 8; left -= 8, p += 8) {
    memcpy(&word, p, 8);
    h = Mix(h, word);
  }
  word = 0;
  if (left > 0) {
    memcpy(&word, p, left);
  }
  return Mix(Mix(h, word), bytes.size());
}

uint64_t HashDouble(double d, uint64_t h) {
  if (std::isnan(d)) {
    return Mix(h, 1);
  }
  if (d == 0) {
    d = 0;  // -0 equals 0
  }
  uint64_t bits;
  memcpy(&bits, &d, sizeof bits);
  return Mix(h, bits);
}

uint64_t HashDepth(const Value& value, const StringCompare* strings, uint64_t h, int depth);

uint64_t HashFields(View view, bool names, const StringCompare* strings, uint64_t h, int depth) {
  if (depth >= kMaxDepth) {
    return h;
  }
  for (const Element& e : view) {
    if (names) {
      h = HashBytes(e.name(), h);
    }
    h = HashDepth(e.value(), strings, h, depth + 1);
  }
  return Mix(h, static_cast<uint64_t>(depth));
}

uint64_t HashObjectId(const ObjectId& id, uint64_t h) {
  return HashBytes({reinterpret_cast<const char*>(id.bytes.data()), id.bytes.size()}, h);
}

uint64_t HashDepth(const Value& value, const StringCompare* strings, uint64_t h, int depth) {
  h = Mix(h, static_cast<uint64_t>(CanonicalType(value.type())));
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
      return strings != nullptr ? HashBytes(strings->SortKey(value.AsString()), h)
                                : HashBytes(value.AsString(), h);
    case Type::kDocument:
      return HashFields(value.AsDocument(), true, strings, h, depth);
    case Type::kArray:
      return HashFields(value.AsArray(), false, strings, h, depth);
    case Type::kBinary:
      return HashBytes(value.AsBinary(), Mix(h, value.binary_subtype()));
    case Type::kObjectId:
      return HashObjectId(value.AsObjectId(), h);
    case Type::kBool:
      return Mix(h, static_cast<uint64_t>(value.AsBool()));
    case Type::kDate:
    case Type::kTimestamp:
      return Mix(h, static_cast<uint64_t>(value.AsInt64()));
    case Type::kRegex:
    case Type::kDbPointer:
    case Type::kCode:
      return HashBytes(value.bytes(), h);
    case Type::kCodeWithScope:
      return HashFields(value.CodeWithScopeScope(), true, nullptr,
                        HashBytes(value.CodeWithScopeCode(), h), depth);
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
  return HashDepth(value, strings, Mix(seed, kOdd1), 0);
}

}  // namespace quire::bson
