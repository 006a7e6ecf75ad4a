// SPDX-License-Identifier: Apache-2.0
#include "tool/text.h"

#include <cstdio>

namespace quire::apps {

std::string Grouped(int64_t number) {
  std::string text = std::to_string(number);
  const size_t first = text[0] == '-' ? 1 : 0;
  for (size_t at = text.size(); at > first + 3;) {
    at -= 3;
    text.insert(at, 1, ',');
  }
  return text;
}

std::string Fixed(double number, int digits) {
  char text[64];
  snprintf(text, sizeof text, "%.*f", digits, number);
  return text;
}

std::string ClockText(double seconds) {
  const auto whole = static_cast<int64_t>(seconds);
  char text[64];
  if (whole >= 3600) {
    snprintf(text, sizeof text, "%lld:%02d:%02d", static_cast<long long>(whole / 3600),
             static_cast<int>(whole / 60 % 60), static_cast<int>(whole % 60));
  } else {
    snprintf(text, sizeof text, "%d:%02d", static_cast<int>(whole / 60),
             static_cast<int>(whole % 60));
  }
  return text;
}

std::string Wrapped(std::string_view text, size_t column) {
  constexpr size_t kWidth = 100;
  std::string out;
  size_t at = column;
  while (!text.empty()) {
    const size_t space = text.find(' ');
    std::string_view word = text.substr(0, space);
    text = space == std::string_view::npos ? "" : text.substr(space + 1);
    if (at + 1 + word.size() > kWidth) {
      out += "\n" + std::string(column, ' ');
      at = column;
    } else if (!out.empty()) {
      out += ' ';
      ++at;
    }
    out += word;
    at += word.size();
  }
  return out;
}

}  // namespace quire::apps
