// SPDX-License-Identifier: Apache-2.0
#include "aims.h"

#include <algorithm>
#include <cstdio>
#include <set>

namespace quire::bench {
namespace {

constexpr Aim kAims[] = {
    {"scan-filter", 1, Yardstick::kRawScan, 0.4}, {"count-filter", 1, Yardstick::kRawScan, 0.4},
    {"sort-limit", 1, Yardstick::kRawScan, 0.4},  {"agg-group", 1, Yardstick::kRawScan, 1.6},
    {"bulk-100", 4, Yardstick::kPing, 4.2},       {"load-bulk", 1, Yardstick::kPing, 35},
    {"insert-1", 4, Yardstick::kPing, 0.60},      {"insert-5idx", 4, Yardstick::kPing, 0.50},
    {"insert-j", 4, Yardstick::kPing, 0.25},      {"inc-upsert", 4, Yardstick::kPing, 0.50},
    {"findandmodify", 4, Yardstick::kPing, 0.60}, {"find-id", 4, Yardstick::kPing, 0.75},
    {"ycsb-c", 4, Yardstick::kPing, 0.80},        {"find-hosttime", 4, Yardstick::kPing, 0.42},
    {"find-path-100", 4, Yardstick::kPing, 0.26}, {"insert-1", 4, Yardstick::kMedian, 20},
    {"find by _id", 0, Yardstick::kRocksDb, 1.5}, {"insert", 0, Yardstick::kRocksDb, 1.5},
    {"resident", 0, Yardstick::kMegabytes, 1100},
};

const char* TextOf(Yardstick yardstick) {
  switch (yardstick) {
    case Yardstick::kPing:
      return "of ping";
    case Yardstick::kRawScan:
      return "of a raw scan";
    case Yardstick::kMedian:
      return "p99.9 of p50";
    case Yardstick::kRocksDb:
      return "of RocksDB, embedded";
    case Yardstick::kMegabytes:
      return "MB";
  }
  return "";
}

const Row* RowOf(const Results& results, const Aim& aim) {
  for (const Row& row : results.rows) {
    if (row.workload == aim.name && row.connections == aim.connections) {
      return &row;
    }
  }
  return nullptr;
}

double FigureOfRow(const Results& results, const Aim& aim) {
  const Row* row = RowOf(results, aim);
  if (row == nullptr) {
    return 0;
  }
  const Summary summary = Summarise(results, *row, 0);
  switch (aim.yardstick) {
    case Yardstick::kPing:
      return summary.of_ping;
    case Yardstick::kRawScan:
      return summary.of_raw;
    default:
      return summary.p50_us > 0 ? summary.p999_us / summary.p50_us : 0;
  }
}

// 0 when it was not measured.
double FigureOf(const Results& results, const std::vector<Pair>& embedded, const Aim& aim) {
  if (aim.yardstick == Yardstick::kMegabytes) {
    return results.resident_mb.empty() ? 0 : static_cast<double>(results.resident_mb[0]);
  }
  if (aim.yardstick != Yardstick::kRocksDb) {
    return FigureOfRow(results, aim);
  }
  for (const Pair& pair : embedded) {
    if (pair.name == aim.name) {
      return pair.ratio;
    }
  }
  return 0;
}

std::string Line(const Aim& aim, double figure) {
  const bool at_least = aim.yardstick == Yardstick::kPing;
  const char* verdict = figure <= 0                                              ? "not measured"
                        : (at_least ? figure >= aim.value : figure <= aim.value) ? "met"
                                                                                 : "missed";
  const int digits = aim.value < 10 ? 2 : aim.value < 100 ? 1 : 0;
  char connections[16] = "";
  if (aim.connections > 0) {
    snprintf(connections, sizeof connections, "%d", aim.connections);
  }
  char line[160];
  snprintf(line, sizeof line, "%-17s %4s %-21s %9.*f %2s %7.*f  %s\n", aim.name, connections,
           TextOf(aim.yardstick), digits, figure, at_least ? ">=" : "<=", digits, aim.value,
           verdict);
  return line;
}

}  // namespace

std::span<const Aim> Aims() { return kAims; }

std::string AimedWorkloads() {
  std::string names;
  for (const Aim& aim : kAims) {
    if (aim.connections > 0) {
      names += std::string(names.empty() ? "" : ",") + aim.name;
    }
  }
  return names;
}

std::string AimedConnections() {
  std::set<int> counts;
  for (const Aim& aim : kAims) {
    if (aim.connections > 0) {
      counts.insert(aim.connections);
    }
  }
  std::string text;
  for (const int count : counts) {
    text += (text.empty() ? "" : ",") + std::to_string(count);
  }
  return text;
}

bool IsAimed(const std::string& workload, int connections) {
  return std::any_of(std::begin(kAims), std::end(kAims), [&](const Aim& aim) {
    return aim.connections == connections && (workload == "ping" || workload == aim.name);
  });
}

std::string AimTable(const Results& results, const std::vector<Pair>& embedded) {
  char head[160];
  snprintf(head, sizeof head, "%-17s %4s %-21s %9s %2s %7s\n", "aim", "conn", "yardstick",
           "measured", "", "wanted");
  std::string text = head;
  for (const Aim& aim : kAims) {
    text += Line(aim, FigureOf(results, embedded, aim));
  }
  return text;
}

}  // namespace quire::bench
