// SPDX-License-Identifier: Apache-2.0
#include "results.h"

#include <algorithm>
#include <cstdio>

namespace quire::bench {
namespace {

const Row* PingRow(const Results& results, int connections) {
  for (const Row& row : results.rows) {
    if (row.workload == "ping" && row.connections == connections) {
      return &row;
    }
  }
  return nullptr;
}

// The median of the rounds' ratios of `one` to `other`; 0 when there is none.
double RatioOf(const Rounds& one, const Rounds& other) {
  std::vector<double> ratios;
  for (size_t i = 0; i < std::min(one.size(), other.size()); ++i) {
    if (one[i].error.empty() && other[i].error.empty() && other[i].per_second > 0) {
      ratios.push_back(one[i].per_second / other[i].per_second);
    }
  }
  return ratios.empty() ? 0 : MiddleOf(std::move(ratios)).median;
}

// The median of the rounds' times of a document in multiples of what RocksDB's iterator took; 0
// when that was not measured.
double RatioToRaw(const Rounds& rounds, int64_t documents) {
  constexpr double kNsInUs = 1000;
  std::vector<double> ratios;
  for (const Sample& sample : rounds) {
    if (sample.raw_scan_ns > 0 && documents > 0) {
      ratios.push_back(sample.p50_us * kNsInUs / static_cast<double>(documents) /
                       sample.raw_scan_ns);
    }
  }
  return ratios.empty() ? 0 : MiddleOf(std::move(ratios)).median;
}

double MedianOf(const Rounds& rounds, double Sample::*field) {
  std::vector<double> figures;
  for (const Sample& sample : rounds) {
    figures.push_back(sample.*field);
  }
  return MiddleOf(std::move(figures)).median;
}

std::string Formatted(const char* format, auto... values) {
  char text[256];
  snprintf(text, sizeof text, format, values...);
  return text;
}

// The width of the targets' column; 0 when there is only one.
int NameWidth(const Results& results) {
  size_t width = 0;
  for (const std::string& name : results.targets) {
    width = std::max(width, name.size());
  }
  return results.targets.size() < 2 ? 0 : static_cast<int>(std::max<size_t>(width, 6));
}

}  // namespace

Middle MiddleOf(std::vector<double> figures) {
  std::sort(figures.begin(), figures.end());
  const size_t half = figures.size() / 2;
  Middle middle;
  middle.median = figures.size() % 2 == 1 ? figures[half] : (figures[half - 1] + figures[half]) / 2;
  middle.spread = middle.median > 0 ? (figures.back() - figures.front()) / middle.median : 0;
  return middle;
}

double Percentile(const std::vector<float>& sorted, double share) {
  const auto at = static_cast<size_t>(share * static_cast<double>(sorted.size()));
  return sorted[std::min(at, sorted.size() - 1)];
}

Summary Summarise(const Results& results, const Row& row, size_t target) {
  Summary summary;
  const Rounds& rounds = row.targets[target];
  for (const Sample& sample : rounds) {
    if (!sample.error.empty()) {
      summary.error = sample.error;
      return summary;
    }
  }
  std::vector<double> rates;
  for (const Sample& sample : rounds) {
    rates.push_back(sample.per_second);
  }
  summary.per_second = MiddleOf(std::move(rates));
  if (const Row* ping = PingRow(results, row.connections)) {
    summary.of_ping = RatioOf(rounds, ping->targets[target]);
  }
  summary.of_first = RatioOf(rounds, row.targets[0]);
  summary.of_raw = RatioToRaw(rounds, results.size);
  summary.p50_us = MedianOf(rounds, &Sample::p50_us);
  summary.p99_us = MedianOf(rounds, &Sample::p99_us);
  summary.p999_us = MedianOf(rounds, &Sample::p999_us);
  return summary;
}

std::string TableHead(const Results& results) {
  const int width = NameWidth(results);
  std::string head = Formatted("%-17s %4s", "workload", "conn");
  head += width == 0 ? "" : Formatted(" %-*s", width, "target");
  head += Formatted(" %11s %6s %8s", "per s", "spread", "of ping");
  head += width == 0 ? "" : Formatted(" %8s", ("of " + results.targets[0]).substr(0, 8).c_str());
  return head + Formatted(" %9s %9s %9s %7s\n", "p50 us", "p99 us", "p99.9 us", "of raw");
}

std::string TableRow(const Results& results, const Row& row) {
  const int width = NameWidth(results);
  std::string text;
  for (size_t i = 0; i < results.targets.size(); ++i) {
    const Summary summary = Summarise(results, row, i);
    text += i == 0 ? Formatted("%-17s %4d", row.workload.c_str(), row.connections)
                   : std::string(22, ' ');
    text += width == 0 ? "" : Formatted(" %-*s", width, results.targets[i].c_str());
    if (!summary.error.empty()) {
      text += " " + summary.error.substr(0, 60) + "\n";
      continue;
    }
    const double rate = summary.per_second.median;
    text += Formatted(" %11.*f %5.0f%% %8.3f", rate < 100 ? 1 : 0, rate,
                      summary.per_second.spread * 100, summary.of_ping);
    text += width == 0 ? "" : Formatted(" %8.2f", summary.of_first);
    text += Formatted(" %9.0f %9.0f %9.0f", summary.p50_us, summary.p99_us, summary.p999_us);
    text += summary.of_raw > 0 ? Formatted(" %7.2f\n", summary.of_raw) : "\n";
  }
  return text;
}

}  // namespace quire::bench
