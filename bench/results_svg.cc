// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string_view>

#include "results.h"

namespace quire::bench {
namespace {

constexpr double kWidth = 860;
constexpr double kLeft = 190;   // of the bars
constexpr double kRight = 780;  // of the bars; figures stand behind
constexpr double kTop = 74;
constexpr double kBar = 10;
constexpr double kBarStep = 13;
constexpr double kGroupGap = 9;
constexpr const char* kColors[] = {"#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee"};

std::string Number(double value) {
  char text[32];
  snprintf(text, sizeof text, "%.1f", value);
  return text;
}

std::string Escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    out += c == '<' ? "&lt;" : c == '&' ? "&amp;" : std::string(1, c);
  }
  return out;
}

std::string TextAt(double x, double y, const char* anchor, std::string_view text) {
  return "<text x=\"" + Number(x) + "\" y=\"" + Number(y) + "\" text-anchor=\"" + anchor + "\">" +
         Escaped(text) + "</text>\n";
}

std::string Bar(double x, double y, double width, const char* color) {
  return "<rect x=\"" + Number(x) + "\" y=\"" + Number(y) + "\" width=\"" +
         Number(std::max(width, 1.0)) + "\" height=\"" + Number(kBar) + "\" fill=\"" + color +
         "\"/>\n";
}

std::string Line(double x1, double y1, double x2, double y2, const char* color) {
  return "<line x1=\"" + Number(x1) + "\" y1=\"" + Number(y1) + "\" x2=\"" + Number(x2) +
         "\" y2=\"" + Number(y2) + "\" stroke=\"" + color + "\"/>\n";
}

const char* ColorOf(size_t target) { return kColors[target % std::size(kColors)]; }

// Decades of the ratio to ping.
struct Scale {
  double low = 0;
  double high = 0;

  explicit Scale(const Results& results) {
    for (const Row& row : results.rows) {
      for (size_t i = 0; i < row.targets.size(); ++i) {
        if (const double ratio = Summarise(results, row, i).of_ping; ratio > 0) {
          low = std::min(low, std::floor(std::log10(ratio)));
          high = std::max(high, std::ceil(std::log10(ratio)));
        }
      }
    }
    high = std::max(high, low + 1);
  }
  double X(double ratio) const {
    const double at = (std::log10(std::max(ratio, 1e-9)) - low) / (high - low);
    return kLeft + std::clamp(at, 0.0, 1.0) * (kRight - kLeft);
  }
};

std::string Legend(const Results& results) {
  std::string out;
  double x = kLeft;
  for (size_t i = 0; i < results.targets.size(); ++i) {
    out += Bar(x, 46, kBar, ColorOf(i));
    out += TextAt(x + kBar + 5, 55, "start", results.targets[i]);
    x += kBar + 30 + 7.5 * static_cast<double>(results.targets[i].size());
  }
  return out;
}

// The bars of one row; moves *y below them.
std::string Group(const Results& results, const Row& row, const Scale& scale, double* y) {
  std::string out;
  const double top = *y;
  for (size_t i = 0; i < row.targets.size(); ++i, *y += kBarStep) {
    const Summary summary = Summarise(results, row, i);
    if (summary.of_ping <= 0) {
      out += TextAt(kLeft + 4, *y + kBar - 1, "start", summary.error.substr(0, 80));
      continue;
    }
    const double half = summary.per_second.spread / 2;
    const double middle = *y + kBar / 2;
    out += Bar(kLeft, *y, scale.X(summary.of_ping) - kLeft, ColorOf(i));
    out += Line(scale.X(summary.of_ping * std::max(1 - half, 0.01)), middle,
                scale.X(summary.of_ping * (1 + half)), middle, "#333");
    char figure[32];
    snprintf(figure, sizeof figure, "%.3g", summary.of_ping);
    out += TextAt(kWidth - 8, *y + kBar - 1, "end", figure);
  }
  out += TextAt(kLeft - 8, (top + *y) / 2 + 1, "end",
                row.workload + ", " + std::to_string(row.connections));
  *y += kGroupGap;
  return out;
}

}  // namespace

std::string ResultsSvg(const Results& results) {
  const Scale scale(results);
  std::string bars;
  double y = kTop;
  for (const Row& row : results.rows) {
    if (row.workload != "ping") {
      bars += Group(results, row, scale, &y);
    }
  }
  std::string grid;
  for (double decade = scale.low; decade <= scale.high; ++decade) {
    const double x = scale.X(std::pow(10, decade));
    char label[32];
    snprintf(label, sizeof label, "%g", std::pow(10, decade));
    grid +=
        Line(x, kTop - 4, x, y, decade == 0 ? "#888" : "#ddd") + TextAt(x, y + 14, "middle", label);
  }
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + Number(kWidth) + "\" height=\"" +
         Number(y + 24) +
         "\" font-family=\"sans-serif\" font-size=\"11\">\n"
         "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n" +
         TextAt(kLeft, 24, "start",
                "Speed as a ratio to ping on the same connections (workload, connections)") +
         Legend(results) + grid + bars + "</svg>\n";
}

}  // namespace quire::bench
