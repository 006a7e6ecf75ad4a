// SPDX-License-Identifier: Apache-2.0
//
// The bytes of the ordered encoding (ordered.h). Stored in every index: DO NOT CHANGE.
#pragma once

#include <cstdint>

#include "quire/bson.h"

namespace quire::bson {

enum OrderedByte : uint8_t {
  kEndByte = 0x00,  // of strings, documents and arrays
  kEscapeByte = 0x01,
  kMinKeyByte = 0x0a,
  kUndefinedByte = 0x14,
  kNullByte = 0x1e,
  // Numbers, by rising value. kNegativeInt1Byte - (n - 1) is a negative integer part of n bytes,
  // kPositiveInt1Byte + (n - 1) a positive one.
  kNanByte = 0x28,
  kNegativeInfinityByte = 0x29,
  kNegativeLargeByte = 0x2a,  // magnitude 2^63 and above
  kNegativeInt8Byte = 0x2b,
  kNegativeInt1Byte = 0x32,
  kNegativeSmallByte = 0x33,  // magnitude below 1
  kZeroByte = 0x34,
  kPositiveSmallByte = 0x35,
  kPositiveInt1Byte = 0x36,
  kPositiveInt8Byte = 0x3d,
  kPositiveLargeByte = 0x3e,
  kPositiveInfinityByte = 0x3f,
  kStringByte = 0x46,
  kDocumentByte = 0x50,
  kArrayByte = 0x5a,
  kBinaryByte = 0x64,
  kObjectIdByte = 0x6e,
  kFalseByte = 0x78,
  kTrueByte = 0x79,
  kDateByte = 0x82,
  kTimestampByte = 0x8c,
  kRegexByte = 0x96,
  kDbPointerByte = 0xa0,
  kCodeByte = 0xaa,
  kCodeWithScopeByte = 0xb4,
  kMaxKeyByte = 0xf0,
};

// Tags of the type bits. A decimal's tag is followed by its exponent (2 bytes, biased).
enum OrderedTag : uint8_t {
  kInt32Tag = 0,
  kStringTag = 0,
  kInt64Tag = 1,
  kSymbolTag = 1,
  kDoubleTag = 2,
  kDecimalTag = 3,
  kNegativeZeroDoubleTag = 4,
  kNegativeZeroDecimalTag = 5,
};

// What follows the double of a number that is no integer below 2^63.
inline constexpr uint8_t kExactDouble = 0;
inline constexpr uint8_t kDecimalFollows = 1;

// Documents nest less; what nests deeper is kept as plain bytes.
inline constexpr int kMaxOrderedDepth = 200;

inline constexpr int kDecimalExponentBias = 0x4000;

}  // namespace quire::bson
