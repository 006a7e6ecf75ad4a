// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "results.h"

namespace quire::bench {
namespace {

std::string Quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escaped[8];
      snprintf(escaped, sizeof escaped, "\\u%04x", c);
      out += escaped;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string Number(double value) {
  char text[40];
  snprintf(text, sizeof text, "%.6g", value);
  return text;
}

std::string Figures(const Rounds& rounds) {
  std::string text;
  for (const Sample& sample : rounds) {
    text += (text.empty() ? "" : ", ") + Number(sample.per_second);
  }
  return "[" + text + "]";
}

std::string RowJson(const Results& results, const Row& row, size_t target) {
  const Summary summary = Summarise(results, row, target);
  std::string text = "  {\"workload\": " + Quoted(row.workload) +
                     ", \"connections\": " + std::to_string(row.connections) +
                     ", \"target\": " + Quoted(results.targets[target]);
  if (!summary.error.empty()) {
    return text + ", \"error\": " + Quoted(summary.error) + "}";
  }
  return text + ", \"per_second\": " + Number(summary.per_second.median) +
         ", \"spread\": " + Number(summary.per_second.spread) +
         ", \"ratio_to_ping\": " + Number(summary.of_ping) +
         ", \"ratio_to_first\": " + Number(summary.of_first) +
         ", \"p50_us\": " + Number(summary.p50_us) + ", \"p99_us\": " + Number(summary.p99_us) +
         ", \"p999_us\": " + Number(summary.p999_us) +
         (summary.of_raw > 0 ? ", \"ratio_to_raw_scan\": " + Number(summary.of_raw) : "") +
         ", \"rounds\": " + Figures(row.targets[target]) + "}";
}

}  // namespace

std::string ResultsJson(const Results& results) {
  std::string text = "{\"size\": " + std::to_string(results.size) +
                     ", \"seconds\": " + Number(results.seconds) + ", \"targets\": [";
  for (size_t i = 0; i < results.targets.size(); ++i) {
    text += std::string(i == 0 ? "" : ", ") + "{\"name\": " + Quoted(results.targets[i]);
    if (results.resident_mb[i] >= 0) {
      text += ", \"resident_mb\": " + std::to_string(results.resident_mb[i]);
    }
    text += "}";
  }
  text += "], \"results\": [\n";
  bool first = true;
  for (const Row& row : results.rows) {
    for (size_t i = 0; i < results.targets.size(); ++i) {
      text += (first ? "" : ",\n") + RowJson(results, row, i);
      first = false;
    }
  }
  return text + "\n]}\n";
}

}  // namespace quire::bench
