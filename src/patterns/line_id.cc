// SPDX-License-Identifier: Apache-2.0
#include "patterns/line_id.h"

namespace quire::patterns {

namespace {

uint64_t Mixed(uint64_t h) {
  h ^= h >> 33;
  h *= 0xff51afd7ed558ccdULL;
  h ^= h >> 33;
  h *= 0xc4ceb9fe1a85ec53ULL;
  return h ^ h >> 33;
}

}  // namespace

// FNV-1a with a seed, mixed.
uint64_t HashBytes(std::string_view bytes, uint64_t seed) {
  uint64_t h = 14695981039346656037ULL ^ Mixed(seed);
  for (char c : bytes) {
    h = (h ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  }
  return Mixed(h);
}

std::string HashId(std::string_view bytes) {
  const uint64_t parts[] = {HashBytes(bytes, 1), HashBytes(bytes, 2)};
  return std::string(reinterpret_cast<const char*>(parts), sizeof parts);
}

}  // namespace quire::patterns
