// SPDX-License-Identifier: Apache-2.0
#include "curves.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace quire::bench {
namespace {

constexpr const char* kColors[] = {"#4477aa", "#ee6677", "#228833", "#ccbb44",
                                   "#66ccee", "#aa3377", "#bbbbbb", "#000000"};

std::string Formatted(const char* format, auto... values) {
  char text[256];
  snprintf(text, sizeof text, format, values...);
  return text;
}

// The greatest of the points as a multiple of the least; 0 when there are none.
double GrowthOf(const Curve& curve) {
  double least = 0;
  double greatest = 0;
  for (double point : curve.points) {
    if (point > 0) {
      least = least == 0 ? point : std::min(least, point);
      greatest = std::max(greatest, point);
    }
  }
  return least > 0 ? greatest / least : 0;
}

// A logarithmic axis.
struct Axis {
  double low;
  double high;
  double from;
  double to;

  double At(double value) const {
    const double share = (std::log10(value) - low) / std::max(high - low, 1e-9);
    return from + share * (to - from);
  }
};

}  // namespace

std::vector<Curve> CurvesOf(const std::vector<Results>& runs) {
  constexpr double kNsInUs = 1000;
  std::vector<Curve> curves;
  for (size_t row = 0; row < runs[0].rows.size(); ++row) {
    for (size_t target = 0; target < runs[0].targets.size(); ++target) {
      Curve curve;
      curve.name = runs[0].rows[row].workload + ", " +
                   std::to_string(runs[0].rows[row].connections) +
                   (runs[0].targets.size() > 1 ? ", " + runs[0].targets[target] : "");
      for (const Results& run : runs) {
        const Summary summary = Summarise(run, run.rows[row], target);
        curve.per_document = curve.per_document || summary.of_raw > 0;
        curve.points.push_back(!summary.error.empty() ? 0
                               : summary.of_raw > 0
                                   ? summary.p50_us * kNsInUs / static_cast<double>(run.size)
                                   : summary.p50_us);
      }
      curves.push_back(std::move(curve));
    }
  }
  return curves;
}

std::string CurveTable(const std::vector<Results>& runs) {
  std::string text = Formatted("%-24s %-6s", "p50 by documents", "");
  for (const Results& run : runs) {
    text += Formatted(" %11lld", static_cast<long long>(run.size));
  }
  text += Formatted(" %8s\n", "growth");
  for (const Curve& curve : CurvesOf(runs)) {
    text += Formatted("%-24s %-6s", curve.name.c_str(), curve.per_document ? "ns/doc" : "us");
    for (double point : curve.points) {
      text += Formatted(" %11.1f", point);
    }
    text += Formatted(" %8.2f\n", GrowthOf(curve));
  }
  return text;
}

std::string CurveSvg(const std::vector<Results>& runs) {
  constexpr double kWidth = 860;
  constexpr double kHeight = 520;
  constexpr double kLegend = 200;
  const std::vector<Curve> curves = CurvesOf(runs);
  double least = 1e12;
  double most = 0;
  for (const Curve& curve : curves) {
    for (double point : curve.points) {
      least = point > 0 ? std::min(least, point) : least;
      most = std::max(most, point);
    }
  }
  most = std::max(most, least);
  const Axis x{std::log10(static_cast<double>(runs.front().size)),
               std::log10(static_cast<double>(runs.back().size)), 60, kWidth - kLegend};
  const Axis y{std::floor(std::log10(least)), std::ceil(std::log10(most)), kHeight - 40, 50};
  std::string svg = Formatted(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%g\" height=\"%g\" "
      "font-family=\"sans-serif\" font-size=\"11\">\n"
      "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
      kWidth, kHeight);
  svg +=
      "<text x=\"60\" y=\"24\">p50 of an operation by documents in the data: us, of scans ns a "
      "document (workload, connections)</text>\n";
  for (double decade = y.low; decade <= y.high; ++decade) {
    const double at = y.At(std::pow(10, decade));
    svg += Formatted("<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#ddd\"/>\n",
                     x.from, at, x.to, at);
    svg += Formatted("<text x=\"52\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n", at + 4,
                     std::pow(10, decade));
  }
  for (const Results& run : runs) {
    svg += Formatted("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%lld</text>\n",
                     x.At(static_cast<double>(run.size)), kHeight - 20,
                     static_cast<long long>(run.size));
  }
  for (size_t i = 0; i < curves.size(); ++i) {
    const char* color = kColors[i % std::size(kColors)];
    const char* dash = i / std::size(kColors) % 2 == 0 ? "none" : "5,3";
    std::string points;
    for (size_t k = 0; k < runs.size(); ++k) {
      if (curves[i].points[k] > 0) {
        points += Formatted("%.1f,%.1f ", x.At(static_cast<double>(runs[k].size)),
                            y.At(curves[i].points[k]));
      }
    }
    svg += "<polyline fill=\"none\" stroke=\"" + std::string(color) + "\" stroke-width=\"1.5\" " +
           "stroke-dasharray=\"" + dash + "\" points=\"" + points + "\"/>\n";
    const double at = 56 + 15 * static_cast<double>(i);
    svg += Formatted(
        "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" "
        "stroke-dasharray=\"%s\"/>\n",
        kWidth - kLegend + 14, at - 4, kWidth - kLegend + 34, at - 4, color, dash);
    svg += Formatted("<text x=\"%.1f\" y=\"%.1f\">", kWidth - kLegend + 40, at) + curves[i].name +
           "</text>\n";
  }
  return svg + "</svg>\n";
}

}  // namespace quire::bench
