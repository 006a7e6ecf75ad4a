// SPDX-License-Identifier: Apache-2.0
#include "bson/compare.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "bson/decimal.h"

namespace quire::bson {

namespace {

// Stored documents nest at most 180 levels; what nests deeper compares by its bytes from there.
constexpr int kMaxDepth = 200;

constexpr std::array<uint8_t, 256> MakeCanonicalTypes() {
  struct Row {
    Type type;
    uint8_t place;
  };
  constexpr Row kRows[] = {
      {Type::kMinKey, 0},     {Type::kMissing, 1},     {Type::kUndefined, 1},
      {Type::kNull, 5},       {Type::kInt32, 10},      {Type::kInt64, 10},
      {Type::kDouble, 10},    {Type::kDecimal128, 10}, {Type::kString, 15},
      {Type::kSymbol, 15},    {Type::kDocument, 20},   {Type::kArray, 25},
      {Type::kBinary, 30},    {Type::kObjectId, 35},   {Type::kBool, 40},
      {Type::kDate, 45},      {Type::kTimestamp, 47},  {Type::kRegex, 50},
      {Type::kDbPointer, 55}, {Type::kCode, 60},       {Type::kCodeWithScope, 65},
      {Type::kMaxKey, 127},
  };
  std::array<uint8_t, 256> places{};
  for (const Row& row : kRows) {
    places[static_cast<uint8_t>(row.type)] = row.place;
  }
  return places;
}

constexpr std::array<uint8_t, 256> kCanonicalTypes = MakeCanonicalTypes();

int Sign(int order) { return (order > 0) - (order < 0); }

template <typename T>
int Order(T a, T b) {
  return (a > b) - (a < b);
}

int CompareBytes(std::string_view a, std::string_view b) { return Sign(a.compare(b)); }

int CompareDoubles(double a, double b) {
  if (a == b) {
    return 0;
  }
  if (a < b) {
    return -1;
  }
  if (a > b) {
    return 1;
  }
  return static_cast<int>(std::isnan(b)) - static_cast<int>(std::isnan(a));
}

int CompareInt64ToDouble(int64_t a, double b) {
  if (std::isnan(b)) {
    return 1;
  }
  constexpr double kTwo63 = 9223372036854775808.0;
  if (b >= kTwo63) {
    return -1;
  }
  if (b < -kTwo63) {
    return 1;
  }
  auto whole = static_cast<int64_t>(b);
  if (a != whole) {
    return a < whole ? -1 : 1;
  }
  return Order(0.0, b - static_cast<double>(whole));
}

int CompareDepth(const Value& a, const Value& b, const StringCompare* strings, int depth);

int CompareFields(View a, View b, bool names, const StringCompare* strings, int depth) {
  if (depth >= kMaxDepth) {
    return CompareBytes(a.bytes(), b.bytes());
  }
  if (depth == 0 && a.bytes() == b.bytes()) {
    return 0;
  }
  auto i = a.begin();
  auto j = b.begin();
  auto a_end = a.end();
  auto b_end = b.end();
  for (; i != a_end && j != b_end; ++i, ++j) {
    if (int order = Order(CanonicalType(i->type()), CanonicalType(j->type())); order != 0) {
      return order;
    }
    if (names) {
      if (int order = CompareBytes(i->name(), j->name()); order != 0) {
        return order;
      }
    }
    if (int order = CompareDepth(i->value(), j->value(), strings, depth + 1); order != 0) {
      return order;
    }
  }
  return static_cast<int>(i != a_end) - static_cast<int>(j != b_end);
}

int CompareBinary(const Value& a, const Value& b) {
  if (int order = Order(a.AsBinary().size(), b.AsBinary().size()); order != 0) {
    return order;
  }
  if (int order = Order(a.binary_subtype(), b.binary_subtype()); order != 0) {
    return order;
  }
  return CompareBytes(a.AsBinary(), b.AsBinary());
}

int CompareObjectIds(const ObjectId& a, const ObjectId& b) {
  return Sign(memcmp(a.bytes.data(), b.bytes.data(), a.bytes.size()));
}

int CompareRegexes(const Value& a, const Value& b) {
  int order = CompareBytes(a.RegexPattern(), b.RegexPattern());
  return order != 0 ? order : CompareBytes(a.RegexOptions(), b.RegexOptions());
}

int CompareDbPointers(const Value& a, const Value& b) {
  std::string_view a_name = a.DbPointerNamespace();
  std::string_view b_name = b.DbPointerNamespace();
  if (int order = Order(a_name.size(), b_name.size()); order != 0) {
    return order;
  }
  int order = CompareBytes(a_name, b_name);
  return order != 0 ? order : CompareObjectIds(a.DbPointerId(), b.DbPointerId());
}

int CompareCodeWithScope(const Value& a, const Value& b, int depth) {
  int order = CompareBytes(a.CodeWithScopeCode(), b.CodeWithScopeCode());
  if (order != 0) {
    return order;
  }
  return CompareFields(a.CodeWithScopeScope(), b.CodeWithScopeScope(), true, nullptr, depth);
}

int CompareStrings(std::string_view a, std::string_view b, const StringCompare* strings) {
  return strings != nullptr ? Sign(strings->Compare(a, b)) : CompareBytes(a, b);
}

// REQUIRES: the types share a bracket.
int CompareInBracket(const Value& a, const Value& b, const StringCompare* strings, int depth) {
  switch (a.type()) {
    case Type::kInt32:
    case Type::kInt64:
    case Type::kDouble:
    case Type::kDecimal128:
      return CompareNumbers(a, b);
    case Type::kString:
    case Type::kSymbol:
      return CompareStrings(a.AsString(), b.AsString(), strings);
    case Type::kDocument:
      return CompareFields(a.AsDocument(), b.AsDocument(), true, strings, depth);
    case Type::kArray:
      return CompareFields(a.AsArray(), b.AsArray(), false, strings, depth);
    case Type::kBinary:
      return CompareBinary(a, b);
    case Type::kObjectId:
      return CompareObjectIds(a.AsObjectId(), b.AsObjectId());
    case Type::kBool:
      return Order(a.AsBool(), b.AsBool());
    case Type::kDate:
      return Order(a.AsDate().millis, b.AsDate().millis);
    case Type::kTimestamp:
      return Order(a.AsTimestamp(), b.AsTimestamp());
    case Type::kRegex:
      return CompareRegexes(a, b);
    case Type::kDbPointer:
      return CompareDbPointers(a, b);
    case Type::kCode:
      return CompareBytes(a.AsString(), b.AsString());
    case Type::kCodeWithScope:
      return CompareCodeWithScope(a, b, depth);
    case Type::kMissing:
    case Type::kUndefined:
    case Type::kNull:
    case Type::kMinKey:
    case Type::kMaxKey:
      return 0;
  }
  return 0;
}

int CompareDepth(const Value& a, const Value& b, const StringCompare* strings, int depth) {
  int order = Order(CanonicalType(a.type()), CanonicalType(b.type()));
  return order != 0 ? order : CompareInBracket(a, b, strings, depth);
}

}  // namespace

int CanonicalType(Type type) { return kCanonicalTypes[static_cast<uint8_t>(type)]; }

bool SameBracket(Type a, Type b) {
  auto bracket = [](Type type) {
    int place = CanonicalType(type);
    return place == CanonicalType(Type::kUndefined) ? CanonicalType(Type::kNull) : place;
  };
  return bracket(a) == bracket(b);
}

int Compare(const Value& a, const Value& b, const StringCompare* strings) {
  return CompareDepth(a, b, strings, 0);
}

int CompareDocuments(View a, View b, const StringCompare* strings) {
  return CompareFields(a, b, true, strings, 0);
}

int CompareArrays(View a, View b, const StringCompare* strings) {
  return CompareFields(a, b, false, strings, 0);
}

int CompareNumbers(const Value& a, const Value& b) {
  auto is_int = [](const Value& v) { return v.type() == Type::kInt32 || v.type() == Type::kInt64; };
  if (is_int(a)) {
    if (is_int(b)) {
      return Order(a.AsInt64(), b.AsInt64());
    }
    return b.type() == Type::kDouble ? CompareInt64ToDouble(a.AsInt64(), b.AsDouble())
                                     : -decimal::CompareToInt64(b.AsDecimal(), a.AsInt64());
  }
  if (a.type() == Type::kDouble) {
    if (b.type() == Type::kDouble) {
      return CompareDoubles(a.AsDouble(), b.AsDouble());
    }
    return is_int(b) ? -CompareInt64ToDouble(b.AsInt64(), a.AsDouble())
                     : -decimal::CompareToDouble(b.AsDecimal(), a.AsDouble());
  }
  if (b.type() == Type::kDecimal128) {
    return decimal::Compare(a.AsDecimal(), b.AsDecimal());
  }
  return is_int(b) ? decimal::CompareToInt64(a.AsDecimal(), b.AsInt64())
                   : decimal::CompareToDouble(a.AsDecimal(), b.AsDouble());
}

}  // namespace quire::bson
