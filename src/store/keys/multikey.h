// SPDX-License-Identifier: Apache-2.0
//
// Which steps of an index's paths have met arrays. One bit for each step of each path, numbered
// through all paths in order: {"a.b": 1, c: 1} has bit 0 for a, 1 for a.b, 2 for c. Steps from
// number 63 on share the last bit.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "store/keys/index_key.h"

namespace quire::store {

constexpr size_t kMultikeyBits = 64;

// The bit of a step of a part's path.
inline uint64_t MultikeyBit(const IndexKeySpec& spec, size_t part, size_t step) {
  size_t number = step;
  for (size_t i = 0; i < part; ++i) {
    number += spec.paths[i].size();
  }
  return uint64_t{1} << std::min(number, kMultikeyBits - 1);
}

// The paths of a part at which arrays were met: "a", "a.b".
inline std::vector<std::string> MultikeyPrefixes(const IndexKeySpec& spec, uint64_t bits,
                                                 size_t part) {
  std::vector<std::string> prefixes;
  std::string prefix;
  for (size_t step = 0; step < spec.paths[part].size(); ++step) {
    prefix += (step > 0 ? "." : "") + std::string(spec.paths[part][step]);
    if ((bits & MultikeyBit(spec, part, step)) != 0) {
      prefixes.push_back(prefix);
    }
  }
  return prefixes;
}

inline bool IsMultikey(const IndexKeySpec& spec, uint64_t bits, size_t part) {
  for (size_t step = 0; step < spec.paths[part].size(); ++step) {
    if ((bits & MultikeyBit(spec, part, step)) != 0) {
      return true;
    }
  }
  return false;
}

}  // namespace quire::store
