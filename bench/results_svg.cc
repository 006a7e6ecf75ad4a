// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "results.h"
#include "tool/picture.h"

namespace quire::bench {
namespace {

constexpr double kWidth = 860;
constexpr double kLeft = 190;   // of the bars
constexpr double kRight = 780;  // of the bars; figures stand behind
constexpr double kTop = 74;
constexpr double kBar = 10;
constexpr double kBarStep = 13;
constexpr double kGroupGap = 9;

using apps::Anchor;
using apps::DecadeAxis;
using apps::Picture;

// Of the ratio to ping.
DecadeAxis AxisOf(const Results& results) {
  double least = 1;
  double greatest = 1;
  for (const Row& row : results.rows) {
    for (size_t i = 0; i < row.targets.size(); ++i) {
      if (const double ratio = Summarise(results, row, i).of_ping; ratio > 0) {
        least = std::min(least, ratio);
        greatest = std::max(greatest, ratio);
      }
    }
  }
  return DecadeAxis::Around(least, greatest, kLeft, kRight);
}

std::string Figure(const char* format, double value) {
  char text[32];
  snprintf(text, sizeof text, format, value);
  return text;
}

// The bars of one row; moves *y below them.
void DrawGroup(const Results& results, const Row& row, const DecadeAxis& axis, Picture* picture,
               double* y) {
  const double top = *y;
  for (size_t i = 0; i < row.targets.size(); ++i, *y += kBarStep) {
    const Summary summary = Summarise(results, row, i);
    if (summary.of_ping <= 0) {
      picture->Text(kLeft + 4, *y + kBar - 1, Anchor::kStart, summary.error.substr(0, 80));
      continue;
    }
    const double half = summary.per_second.spread / 2;
    const double middle = *y + kBar / 2;
    picture->Bar(kLeft, *y, axis.At(summary.of_ping) - kLeft, kBar, apps::ColorOf(i));
    picture->Line(axis.At(summary.of_ping * std::max(1 - half, 0.01)), middle,
                  axis.At(summary.of_ping * (1 + half)), middle, "#333");
    picture->Text(kWidth - 8, *y + kBar - 1, Anchor::kEnd, Figure("%.3g", summary.of_ping));
  }
  picture->Text(kLeft - 8, (top + *y) / 2 + 1, Anchor::kEnd,
                row.workload + ", " + std::to_string(row.connections));
  *y += kGroupGap;
}

double HeightOf(const Results& results) {
  double height = 0;
  for (const Row& row : results.rows) {
    if (row.workload != "ping") {
      height += static_cast<double>(row.targets.size()) * kBarStep + kGroupGap;
    }
  }
  return height;
}

}  // namespace

std::string ResultsSvg(const Results& results) {
  const DecadeAxis axis = AxisOf(results);
  const double bottom = kTop + HeightOf(results);
  Picture picture;
  picture.Text(kLeft, 24, Anchor::kStart,
               "Speed as a ratio to ping on the same connections (workload, connections)");
  picture.Legend(kLeft, results.targets);
  for (double decade = axis.low; decade <= axis.high; ++decade) {
    const double x = axis.At(std::pow(10, decade));
    picture.Line(x, kTop - 4, x, bottom, decade == 0 ? "#888" : "#ddd");
    picture.Text(x, bottom + 14, Anchor::kMiddle, Figure("%g", std::pow(10, decade)));
  }
  double y = kTop;
  for (const Row& row : results.rows) {
    if (row.workload != "ping") {
      DrawGroup(results, row, axis, &picture, &y);
    }
  }
  return picture.Finish(kWidth, bottom + 24, 11);
}

}  // namespace quire::bench
