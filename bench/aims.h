// SPDX-License-Identifier: Apache-2.0
//
// What Quire wants to reach, each figure against its yardstick of the same run: no machine's own
// speed is in them. docs/performance.md says what is behind those that are missed.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "embedded.h"
#include "results.h"

namespace quire::bench {

enum class Yardstick : uint8_t {
  kPing,      // operations a second to those of ping on the same connections: at least
  kRawScan,   // time of a document to that of RocksDB's iterator: at most
  kMedian,    // p99.9 to p50: at most
  kRocksDb,   // time in the library to that of RocksDB with the same bytes: at most
  kMegabytes  // resident after the run: at most
};

struct Aim {
  const char* name;  // of the workload; of kRocksDb the pair's
  int connections;   // 0: of no workload
  Yardstick yardstick;
  double value;
};

std::span<const Aim> Aims();
// The names of the workloads that have an aim, and the numbers of connections they are measured on.
std::string AimedWorkloads();
std::string AimedConnections();
// Whether an aim is about the workload on so many connections; of ping whether any is.
bool IsAimed(const std::string& workload, int connections);

// A line for each aim: what was measured, what is wanted, and whether it is met. Of the first
// target.
std::string AimTable(const Results& results, const std::vector<Pair>& embedded);

}  // namespace quire::bench
