// SPDX-License-Identifier: Apache-2.0
#include "tool/picture.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "tool/text.h"

namespace quire::apps {
namespace {

constexpr std::string_view kColors[] = {"#4477aa", "#ee6677", "#228833", "#ccbb44",
                                        "#66ccee", "#aa3377", "#bbbbbb", "#000000"};

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

// ` name="value"`
std::string Attribute(std::string_view name, std::string_view value) {
  return " " + std::string(name) + "=\"" + std::string(value) + "\"";
}

std::string Stroke(std::string_view color, bool dashed) {
  return Attribute("stroke", color) + (dashed ? Attribute("stroke-dasharray", "5,3") : "");
}

}  // namespace

std::string_view ColorOf(size_t i) { return kColors[i % std::size(kColors)]; }
bool ComesAgain(size_t i) { return i / std::size(kColors) % 2 != 0; }

void Picture::Text(double x, double y, Anchor anchor, std::string_view text) {
  const char* name = anchor == Anchor::kStart    ? "start"
                     : anchor == Anchor::kMiddle ? "middle"
                                                 : "end";
  drawn_ += "<text" + Attribute("x", Number(x)) + Attribute("y", Number(y)) +
            Attribute("text-anchor", name) + ">" + Escaped(text) + "</text>\n";
}

void Picture::Line(double x1, double y1, double x2, double y2, std::string_view color,
                   bool dashed) {
  drawn_ += "<line" + Attribute("x1", Number(x1)) + Attribute("y1", Number(y1)) +
            Attribute("x2", Number(x2)) + Attribute("y2", Number(y2)) + Stroke(color, dashed) +
            "/>\n";
}

void Picture::Bar(double x, double y, double width, double height, std::string_view color) {
  drawn_ += "<rect" + Attribute("x", Number(x)) + Attribute("y", Number(y)) +
            Attribute("width", Number(std::max(width, 1.0))) + Attribute("height", Number(height)) +
            Attribute("fill", color) + "/>\n";
}

void Picture::Curve(const std::vector<std::pair<double, double>>& points, std::string_view color,
                    bool dashed) {
  std::string at;
  for (const auto& [x, y] : points) {
    at += (at.empty() ? "" : " ") + Number(x) + "," + Number(y);
  }
  drawn_ += "<polyline fill=\"none\"" + Stroke(color, dashed) + Attribute("stroke-width", "1.5") +
            Attribute("points", at) + "/>\n";
}

void Picture::Legend(double left, const std::vector<std::string>& names) {
  constexpr double kSquare = 12;
  constexpr double kLetter = 7.5;
  for (size_t i = 0; i < names.size(); ++i) {
    Bar(left, 45, kSquare, kSquare, ColorOf(i));
    Text(left + kSquare + 5, 55, Anchor::kStart, names[i]);
    left += kSquare + 30 + kLetter * static_cast<double>(names[i].size());
  }
}

std::string Picture::Finish(double width, double height, int font_size) const {
  return "<svg xmlns=\"http://www.w3.org/2000/svg\"" + Attribute("width", Number(width)) +
         Attribute("height", Number(height)) +
         Attribute("viewBox", "0 0 " + Number(width) + " " + Number(height)) +
         Attribute("font-family", "sans-serif") +
         Attribute("font-size", std::to_string(font_size)) +
         ">\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n" + drawn_ + "</svg>\n";
}

DecadeAxis DecadeAxis::Around(double least, double greatest, double from, double to) {
  DecadeAxis axis = {std::floor(std::log10(least)), std::ceil(std::log10(greatest)), from, to};
  axis.high = std::max(axis.high, axis.low + 1);
  return axis;
}

double DecadeAxis::At(double value) const {
  const double lowest = std::pow(10, std::min(low, high) - 1);
  const double share = (std::log10(std::max(value, lowest)) - low) / std::max(high - low, 1e-9);
  return from + std::clamp(share, 0.0, 1.0) * (to - from);
}

}  // namespace quire::apps
