// SPDX-License-Identifier: Apache-2.0
//
// The one source of chance of a simulated run: the same seed gives the same run.
#pragma once

#include <cstdint>

namespace quire::repl {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  // In [0, n). REQUIRES: n > 0.
  uint64_t Below(uint64_t n) { return (static_cast<unsigned __int128>(Next()) * n) >> 64; }
  int64_t Between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(Below(static_cast<uint64_t>(high - low + 1)));
  }
  bool Chance(double p) { return static_cast<double>(Next() >> 11) * 0x1.0p-53 < p; }

 private:
  uint64_t state_;
};

}  // namespace quire::repl
