// SPDX-License-Identifier: Apache-2.0
#include "curves.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "tool/picture.h"

namespace quire::bench {
namespace {

using apps::Anchor;
using apps::DecadeAxis;
using apps::Picture;

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

constexpr double kWidth = 860;
constexpr double kHeight = 520;
constexpr double kLegend = 200;
constexpr double kBottom = kHeight - 40;

void DrawAxes(const std::vector<Results>& runs, const DecadeAxis& x, const DecadeAxis& y,
              Picture* picture) {
  for (double decade = y.low; decade <= y.high; ++decade) {
    const double at = y.At(std::pow(10, decade));
    picture->Line(x.from, at, x.to, at, "#ddd");
    picture->Text(52, at + 4, Anchor::kEnd, Formatted("%g", std::pow(10, decade)));
  }
  for (const Results& run : runs) {
    picture->Text(x.At(static_cast<double>(run.size)), kHeight - 20, Anchor::kMiddle,
                  std::to_string(run.size));
  }
}

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
  const std::vector<Curve> curves = CurvesOf(runs);
  double least = 1e12;
  double most = 0;
  for (const Curve& curve : curves) {
    for (double point : curve.points) {
      least = point > 0 ? std::min(least, point) : least;
      most = std::max(most, point);
    }
  }
  const DecadeAxis x{std::log10(static_cast<double>(runs.front().size)),
                     std::log10(static_cast<double>(runs.back().size)), 60, kWidth - kLegend};
  const DecadeAxis y = DecadeAxis::Around(least, std::max(most, least), kBottom, 50);
  Picture picture;
  picture.Text(60, 24, Anchor::kStart,
               "p50 of an operation by documents in the data: us, of scans ns a document "
               "(workload, connections)");
  DrawAxes(runs, x, y, &picture);
  for (size_t i = 0; i < curves.size(); ++i) {
    const bool dashed = apps::ComesAgain(i);
    std::vector<std::pair<double, double>> points;
    for (size_t k = 0; k < runs.size(); ++k) {
      if (curves[i].points[k] > 0) {
        points.emplace_back(x.At(static_cast<double>(runs[k].size)), y.At(curves[i].points[k]));
      }
    }
    picture.Curve(points, apps::ColorOf(i), dashed);
    const double at = 56 + 15 * static_cast<double>(i);
    picture.Line(kWidth - kLegend + 14, at - 4, kWidth - kLegend + 34, at - 4, apps::ColorOf(i),
                 dashed);
    picture.Text(kWidth - kLegend + 40, at, Anchor::kStart, curves[i].name);
  }
  return picture.Finish(kWidth, kHeight, 11);
}

}  // namespace quire::bench
