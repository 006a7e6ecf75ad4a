// SPDX-License-Identifier: Apache-2.0
//
// Numbers as people read them.
#pragma once

#include <cstdint>
#include <string>

namespace quire::apps {

// "1,234,567".
std::string Grouped(int64_t number);
// With as many digits after the point as given.
std::string Fixed(double number, int digits);
// "0:07", "12:34", "1:02:03".
std::string ClockText(double seconds);

}  // namespace quire::apps
