// SPDX-License-Identifier: Apache-2.0
//
// What a run has measured, and how it is shown.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace quire::bench {

// One workload on one target for some seconds.
struct Sample {
  double per_second = 0;  // operations, or the documents they stand for
  double p50_us = 0;
  double p99_us = 0;
  double p999_us = 0;
  std::string error;  // why there is no figure
  // In the same round, nanoseconds in which RocksDB's iterator passes a document; 0: not measured.
  double raw_scan_ns = 0;
};

// The samples of one workload on one target, a round each.
using Rounds = std::vector<Sample>;

struct Row {
  std::string workload;
  int connections = 1;
  std::vector<Rounds> targets;  // in the order of Results::targets
};

struct Results {
  std::vector<std::string> targets;  // their names
  std::vector<int64_t> resident_mb;  // of each after the run; -1: it does not say
  std::vector<Row> rows;
  int64_t size = 0;
  double seconds = 0;
};

// The middle of the figures, and how far apart the least and the greatest are, in parts of it.
struct Middle {
  double median = 0;
  double spread = 0;
};
// REQUIRES: figures is not empty.
Middle MiddleOf(std::vector<double> figures);
// The value below which `share` of the sorted figures lie. REQUIRES: figures is not empty.
double Percentile(const std::vector<float>& sorted, double share);

// One target's row in figures.
struct Summary {
  std::string error;  // of a round; then nothing else is set
  Middle per_second;
  double of_ping = 0;   // medians of the rounds' ratios; 0: there is none
  double of_first = 0;  // to the first target in the same round
  double of_raw = 0;    // time of a document to that of RocksDB's iterator; 0: not measured
  double p50_us = 0;    // medians
  double p99_us = 0;
  double p999_us = 0;
};
Summary Summarise(const Results& results, const Row& row, size_t target);

// The head of the table, and one row of it as soon as it is measured.
std::string TableHead(const Results& results);
std::string TableRow(const Results& results, const Row& row);
std::string ResultsJson(const Results& results);
// Bars of each workload and target: the ratio to ping, from the least to the greatest round.
std::string ResultsSvg(const Results& results);

}  // namespace quire::bench
