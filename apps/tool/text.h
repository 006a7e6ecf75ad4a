// SPDX-License-Identifier: Apache-2.0
//
// Numbers and paragraphs as people read them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace quire::apps {

// "1,234,567".
std::string Grouped(int64_t number);
// With as many digits after the point as given.
std::string Fixed(double number, int digits);
// "0:07", "12:34", "1:02:03".
std::string ClockText(double seconds);

// `text` in lines that begin at `column` and end before 100, for the options of a --help.
std::string Wrapped(std::string_view text, size_t column);

}  // namespace quire::apps
