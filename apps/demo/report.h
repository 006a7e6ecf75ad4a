// SPDX-License-Identifier: Apache-2.0
//
// What a demo did, as data; printed as tables, JSON or a chart.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "quire/bson.h"

namespace quire::apps {

struct LoadReport {
  std::string what;
  int64_t count = 0;
  double seconds = 0;
};

struct StepReport {
  std::string name;
  int64_t operations = 0;
  int64_t refused = 0;  // answered with one of the system's own errors: InsufficientFunds...
  int64_t errors = 0;
  double p50_ms = 0;
  double p99_ms = 0;
  // On the average of some operations afterwards, one at a time, by the profiler: commands sent,
  // keys and documents they looked at. Below 0: not known.
  double commands = -1;
  double keys = -1;
  double documents = -1;
};

struct QueryReport {
  std::string name;
  int64_t returned = 0;
  int64_t keys = 0;
  int64_t documents = 0;
  bool collection_scan = false;
};

struct CheckReport {
  std::string what;
  bool holds = false;
  std::string detail;  // what is wrong
};

struct DesignReport {
  std::string name;
  std::vector<LoadReport> loads;
  std::vector<StepReport> steps;
  std::vector<QueryReport> queries;
  std::vector<CheckReport> checks;
  double seconds = 0;  // of the work
  int64_t data_bytes = 0;
  int64_t index_bytes = 0;
  std::string first_error;
};

struct DemoReport {
  std::string name;
  std::string purpose;
  std::string place;
  int64_t size = 0;
  std::string size_of;
  int64_t threads = 0;
  std::vector<DesignReport> designs;

  // No error, and every invariant holds.
  bool sound() const;
};

// For a terminal of 80 columns.
std::string ReportText(const DemoReport& report);
bson::Document ReportDocument(const DemoReport& report);
// Median and 99th percentile of every operation in every design, on a logarithmic scale.
std::string ReportSvg(const DemoReport& report);

}  // namespace quire::apps
