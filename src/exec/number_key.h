// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace quire::exec {

// A key for a Sorter whose bytes are in the order of the numbers.
inline std::string NumberKey(uint64_t number) {
  std::string key(sizeof number, '\0');
  for (size_t i = key.size(); i > 0; --i, number >>= 8) {
    key[i - 1] = static_cast<char>(number & 0xff);
  }
  return key;
}

}  // namespace quire::exec
