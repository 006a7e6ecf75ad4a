// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <random>

namespace quire::repl {

// For processes and folders: not the same twice, and never 0, which stands for none.
inline uint64_t RandomId() {
  std::random_device source;
  const uint64_t id = (uint64_t{source()} << 32) ^ source();
  return id == 0 ? 1 : id;
}

}  // namespace quire::repl
