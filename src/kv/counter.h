// SPDX-License-Identifier: Apache-2.0
//
// The stored form of a counter (Txn::Add): 8 bytes, little-endian, two's complement.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace quire::kv {

constexpr size_t kCounterSize = 8;

inline void EncodeCounter(int64_t value, char* to) {
  static_assert(std::endian::native == std::endian::little);
  memcpy(to, &value, kCounterSize);
}

// REQUIRES: bytes.size() == kCounterSize.
inline int64_t DecodeCounter(std::string_view bytes) {
  int64_t value;
  memcpy(&value, bytes.data(), kCounterSize);
  return value;
}

// Sums wrap around instead of overflowing.
inline int64_t AddCounters(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

}  // namespace quire::kv
