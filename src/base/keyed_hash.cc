// SPDX-License-Identifier: Apache-2.0
#include "base/keyed_hash.h"

#include <sys/random.h>

#include <chrono>

namespace quire {

namespace {

HashKeys DrawKeys() {
  HashKeys keys{};
  if (getrandom(&keys, sizeof keys, 0) != sizeof keys) {
    // A kernel without random numbers: the clock and where the system has put us.
    keys.first = static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
    keys.second = reinterpret_cast<uint64_t>(&keys) * 0x9e3779b97f4a7c15;
  }
  return keys;
}

}  // namespace

// Before the other objects of the program, which may hash already.
__attribute__((init_priority(101))) const HashKeys kHashKeys = DrawKeys();

}  // namespace quire
