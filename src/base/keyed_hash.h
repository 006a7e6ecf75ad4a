// SPDX-License-Identifier: Apache-2.0
//
// The hash of all tables whose keys users choose. It is keyed with random numbers of the process,
// so that nobody can prepare keys that fall together.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace quire {

// Drawn anew in every process, before anything is hashed.
struct HashKeys {
  uint64_t first;
  uint64_t second;
};
extern const HashKeys kHashKeys;

// Folds `word` into the hash `h`: the two halves of the 128-bit product of both under the keys.
inline uint64_t MixHash(uint64_t h, uint64_t word) {
  auto product = static_cast<unsigned __int128>(h ^ kHashKeys.first) * (word ^ kHashKeys.second);
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

// Folds bytes and their number into the hash `h`.
inline uint64_t KeyedHash(std::string_view bytes, uint64_t h = 0) {
  const char* p = bytes.data();
  size_t left = bytes.size();
  uint64_t word = 0;
  for (; left >= 8; left -= 8, p += 8) {
    memcpy(&word, p, 8);
    h = MixHash(h, word);
  }
  word = 0;
  if (left > 0) {
    memcpy(&word, p, left);
  }
  return MixHash(MixHash(h, word), bytes.size());
}

// For standard containers with strings as keys.
struct KeyedStringHash {
  using is_transparent = void;
  size_t operator()(std::string_view key) const { return KeyedHash(key); }
};

}  // namespace quire
