// SPDX-License-Identifier: Apache-2.0
//
// The engine in the program, without a socket or a driver, against RocksDB with the same bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "quire/status.h"

namespace quire::bench {

// One operation, in nanoseconds of the thread's processor time; medians of the rounds.
struct Pair {
  std::string name;
  double embedded_ns = 0;
  double raw_ns = 0;
  double ratio = 0;  // the median of the rounds' own
};

// On a collection of so many events, in turns: a round of the one, a round of the other.
Result<std::vector<Pair>> MeasureEmbedded(int64_t documents, int64_t rounds);
std::string PairTable(const std::vector<Pair>& pairs);

}  // namespace quire::bench
