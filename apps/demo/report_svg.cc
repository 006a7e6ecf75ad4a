// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "demo/report.h"
#include "tool/text.h"

namespace quire::apps {
namespace {

constexpr double kWidth = 820;
constexpr double kLeft = 150;   // of the bars
constexpr double kRight = 740;  // of the bars; figures stand behind
constexpr double kTop = 74;
constexpr double kBar = 14;
constexpr double kBarStep = 18;
constexpr double kGroupGap = 14;
constexpr const char* kColors[] = {"#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee"};

std::string Escaped(std::string_view text) {
  std::string out;
  for (char c : text) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string Number(double v) { return Fixed(v, 1); }

std::string TextAt(double x, double y, std::string_view anchor, std::string_view text) {
  return "<text x=\"" + Number(x) + "\" y=\"" + Number(y) + "\" text-anchor=\"" +
         std::string(anchor) + "\">" + Escaped(text) + "</text>\n";
}

std::string Line(double x1, double y1, double x2, double y2, std::string_view color) {
  return "<line x1=\"" + Number(x1) + "\" y1=\"" + Number(y1) + "\" x2=\"" + Number(x2) +
         "\" y2=\"" + Number(y2) + "\" stroke=\"" + std::string(color) + "\"/>\n";
}

std::string Rect(double x, double y, double width, std::string_view color) {
  return "<rect x=\"" + Number(x) + "\" y=\"" + Number(y) + "\" width=\"" + Number(width) +
         "\" height=\"" + Number(kBar) + "\" fill=\"" + std::string(color) + "\"/>\n";
}

// Decades of milliseconds on the x axis.
struct Scale {
  double low = 1;  // powers of ten
  double high = -3;

  explicit Scale(const DemoReport& report) {
    for (const DesignReport& design : report.designs) {
      for (const StepReport& step : design.steps) {
        low = std::min(low, std::floor(std::log10(std::max(step.p50_ms, 1e-4))));
        high = std::max(high, std::ceil(std::log10(std::max(step.p99_ms, 1e-4))));
      }
    }
    high = std::max(high, low + 1);
  }
  double X(double ms) const {
    const double at = (std::log10(std::max(ms, 1e-4)) - low) / (high - low);
    return kLeft + std::clamp(at, 0.0, 1.0) * (kRight - kLeft);
  }
};

std::vector<std::string> StepNames(const DemoReport& report) {
  std::vector<std::string> names;
  for (const DesignReport& design : report.designs) {
    for (const StepReport& step : design.steps) {
      if (std::find(names.begin(), names.end(), step.name) == names.end()) {
        names.push_back(step.name);
      }
    }
  }
  return names;
}

std::string Legend(const DemoReport& report) {
  std::string out;
  double x = kLeft;
  for (size_t i = 0; i < report.designs.size(); ++i) {
    out += Rect(x, 44, kBar, kColors[i % std::size(kColors)]);
    out += TextAt(x + kBar + 5, 55, "start", report.designs[i].name);
    x += kBar + 30 + 7.5 * static_cast<double>(report.designs[i].name.size());
  }
  return out;
}

// The bars of one operation; moves `y` below them.
std::string Group(const DemoReport& report, const Scale& scale, const std::string& name,
                  double* y) {
  std::string out;
  const double top = *y;
  for (size_t i = 0; i < report.designs.size(); ++i) {
    for (const StepReport& step : report.designs[i].steps) {
      if (step.name != name || step.operations == 0) {
        continue;
      }
      const double middle = *y + kBar / 2;
      out += Rect(kLeft, *y, std::max(scale.X(step.p50_ms) - kLeft, 1.0),
                  kColors[i % std::size(kColors)]);
      out += Line(scale.X(step.p50_ms), middle, scale.X(step.p99_ms), middle, "#333");
      out += Line(scale.X(step.p99_ms), *y + 3, scale.X(step.p99_ms), *y + kBar - 3, "#333");
      out += TextAt(kWidth - 8, middle + 4, "end", Fixed(step.p50_ms, 3));
      *y += kBarStep;
    }
  }
  out += TextAt(kLeft - 10, (top + *y) / 2 + 2, "end", name);
  *y += kGroupGap;
  return out;
}

std::string Grid(const Scale& scale, double bottom) {
  std::string out;
  for (double decade = scale.low; decade <= scale.high; ++decade) {
    const double ms = std::pow(10, decade);
    out += Line(scale.X(ms), kTop - 6, scale.X(ms), bottom, "#ddd");
    out += TextAt(scale.X(ms), bottom + 16, "middle",
                  ms >= 1 ? Fixed(ms, 0) + " ms" : Fixed(ms * 1000, ms < 0.001 ? 1 : 0) + " µs");
  }
  return out;
}

}  // namespace

std::string ReportSvg(const DemoReport& report) {
  const Scale scale(report);
  double y = kTop;
  std::string bars;
  for (const std::string& name : StepNames(report)) {
    bars += Group(report, scale, name, &y);
  }
  const std::string height = Number(y + 48);
  std::string out = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + Number(kWidth) +
                    "\" height=\"" + height + "\" viewBox=\"0 0 " + Number(kWidth) + " " + height +
                    "\" font-family=\"sans-serif\" font-size=\"12\">\n"
                    "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n";
  out += TextAt(12, 22, "start", "quire demo " + report.name + ": " + report.purpose);
  out += TextAt(kWidth - 8, y + 38, "end",
                "bar and figure: median in ms; line: to the 99th percentile");
  out += Legend(report) + Grid(scale, y) + bars;
  return out + "</svg>\n";
}

}  // namespace quire::apps
