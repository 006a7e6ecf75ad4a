// SPDX-License-Identifier: Apache-2.0
//
// MongoDB's total order over BSON values, and hashing that agrees with it.
//
// Types come first: MinKey, missing and undefined, null, numbers, strings and symbols, documents,
// arrays, binary data, object ids, booleans, dates, timestamps, regular expressions, DBPointers,
// code, code with scope, MaxKey. Numbers of all types compare by exact value, with NaN below
// everything else and equal to itself, and -0 equal to 0.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "quire/bson.h"

namespace quire::bson {

// A string order other than the binary one (a collation). Immutable and safe for concurrent use.
class StringCompare {
 public:
  virtual ~StringCompare() = default;
  // Negative, zero or positive.
  virtual int Compare(std::string_view a, std::string_view b) const = 0;
  // Bytes that compare (as unsigned bytes) like the strings do; equal strings give equal bytes.
  virtual std::string SortKey(std::string_view s) const = 0;
};

// The type's place in the order; types of one bracket share it.
int CanonicalType(Type type);
// Whether comparison operators of a query compare the two at all (type bracketing): same place in
// the order, with missing, undefined and null taken as one.
bool SameBracket(Type a, Type b);

// -1, 0 or 1. `strings`, when not null, orders strings and symbols, at any depth.
int Compare(const Value& a, const Value& b, const StringCompare* strings = nullptr);
// Field by field: type, then name, then value; a prefix is smaller.
int CompareDocuments(View a, View b, const StringCompare* strings = nullptr);
// Element by element, names not looked at.
int CompareArrays(View a, View b, const StringCompare* strings = nullptr);
// REQUIRES: both are numbers.
int CompareNumbers(const Value& a, const Value& b);

inline bool Equal(const Value& a, const Value& b, const StringCompare* strings = nullptr) {
  return Compare(a, b, strings) == 0;
}

// Equal values (under the same `strings`) have equal hashes. Not stable across versions: never
// stored (see index_hash.h for one that is).
uint64_t Hash(const Value& value, const StringCompare* strings = nullptr, uint64_t seed = 0);

// For hash tables keyed by Value.
struct ValueHash {
  const StringCompare* strings = nullptr;
  size_t operator()(const Value& value) const { return Hash(value, strings); }
};
struct ValueEqual {
  const StringCompare* strings = nullptr;
  bool operator()(const Value& a, const Value& b) const { return Equal(a, b, strings); }
};
// For ordered containers keyed by Value.
struct ValueLess {
  const StringCompare* strings = nullptr;
  bool operator()(const Value& a, const Value& b) const { return Compare(a, b, strings) < 0; }
};

}  // namespace quire::bson
