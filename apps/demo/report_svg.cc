// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "demo/report.h"
#include "tool/picture.h"
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

constexpr double kLeast = 1e-4;  // milliseconds: less is shown as that

// Of milliseconds.
DecadeAxis AxisOf(const DemoReport& report) {
  double least = 10;
  double greatest = kLeast;
  for (const DesignReport& design : report.designs) {
    for (const StepReport& step : design.steps) {
      least = std::min(least, std::max(step.p50_ms, kLeast));
      greatest = std::max(greatest, step.p99_ms);
    }
  }
  return DecadeAxis::Around(least, greatest, kLeft, kRight);
}

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

// The bars of one operation; moves `y` below them.
void DrawGroup(const DemoReport& report, const DecadeAxis& axis, const std::string& name,
               Picture* picture, double* y) {
  const double top = *y;
  for (size_t i = 0; i < report.designs.size(); ++i) {
    for (const StepReport& step : report.designs[i].steps) {
      if (step.name != name || step.operations == 0) {
        continue;
      }
      const double middle = *y + kBar / 2;
      const double half = axis.At(step.p50_ms);
      const double most = axis.At(step.p99_ms);
      picture->Bar(kLeft, *y, half - kLeft, kBar, ColorOf(i));
      picture->Line(half, middle, most, middle, "#333");
      picture->Line(most, *y + 3, most, *y + kBar - 3, "#333");
      picture->Text(kWidth - 8, middle + 4, Anchor::kEnd, Fixed(step.p50_ms, 3));
      *y += kBarStep;
    }
  }
  picture->Text(kLeft - 10, (top + *y) / 2 + 2, Anchor::kEnd, name);
  *y += kGroupGap;
}

// Below the bars of that many operations.
double BottomOf(const DemoReport& report, size_t operations) {
  double bottom = kTop + static_cast<double>(operations) * kGroupGap;
  for (const DesignReport& design : report.designs) {
    for (const StepReport& step : design.steps) {
      bottom += step.operations > 0 ? kBarStep : 0;
    }
  }
  return bottom;
}

void DrawGrid(const DecadeAxis& axis, double bottom, Picture* picture) {
  for (double decade = axis.low; decade <= axis.high; ++decade) {
    const double ms = std::pow(10, decade);
    picture->Line(axis.At(ms), kTop - 6, axis.At(ms), bottom, "#ddd");
    picture->Text(axis.At(ms), bottom + 16, Anchor::kMiddle,
                  ms >= 1 ? Fixed(ms, 0) + " ms" : Fixed(ms * 1000, ms < 0.001 ? 1 : 0) + " µs");
  }
}

}  // namespace

std::string ReportSvg(const DemoReport& report) {
  const DecadeAxis axis = AxisOf(report);
  const std::vector<std::string> steps = StepNames(report);
  Picture picture;
  picture.Text(12, 22, Anchor::kStart, "quire demo " + report.name + ": " + report.purpose);
  std::vector<std::string> designs;
  for (const DesignReport& design : report.designs) {
    designs.push_back(design.name);
  }
  picture.Legend(kLeft, designs);
  DrawGrid(axis, BottomOf(report, steps.size()), &picture);
  double y = kTop;
  for (const std::string& name : steps) {
    DrawGroup(report, axis, name, &picture, &y);
  }
  picture.Text(kWidth - 8, y + 38, Anchor::kEnd,
               "bar and figure: median in ms; line: to the 99th percentile");
  return picture.Finish(kWidth, y + 48, 12);
}

}  // namespace quire::apps
