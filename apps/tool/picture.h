// SPDX-License-Identifier: Apache-2.0
//
// Charts as SVG: lines, bars and texts put on a picture, and axes in decades.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quire::apps {

enum class Anchor { kStart, kMiddle, kEnd };

// Lengths are in pixels, from the upper left corner.
class Picture {
 public:
  void Text(double x, double y, Anchor anchor, std::string_view text);
  void Line(double x1, double y1, double x2, double y2, std::string_view color,
            bool dashed = false);
  void Bar(double x, double y, double width, double height, std::string_view color);
  void Curve(const std::vector<std::pair<double, double>>& points, std::string_view color,
             bool dashed = false);
  // A square and a name for each series, from `left` on in one line below the title.
  void Legend(double left, const std::vector<std::string>& names);

  // The file.
  std::string Finish(double width, double height, int font_size) const;

 private:
  std::string drawn_;
};

// The colour of the i-th series; they come again after some.
std::string_view ColorOf(size_t i);
bool ComesAgain(size_t i);

// A logarithmic axis from 10^low to 10^high, which lie at `from` and `to`.
struct DecadeAxis {
  double low = 0;
  double high = 0;
  double from = 0;
  double to = 0;

  // Whole decades around the least and the greatest value, at least one.
  static DecadeAxis Around(double least, double greatest, double from, double to);
  double At(double value) const;
};

}  // namespace quire::apps
