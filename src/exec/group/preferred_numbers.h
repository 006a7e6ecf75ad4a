// SPDX-License-Identifier: Apache-2.0
//
// Series of preferred numbers (Renard, E, 1-2-5, powers of two) to round bucket boundaries to.
#pragma once

#include <string_view>
#include <vector>

namespace quire::exec {

struct NumberSeries {
  std::string_view name;
  std::vector<double> values;  // of one decade, ascending; empty: powers of two
};

// Null when there is no series of that name.
const NumberSeries* FindNumberSeries(std::string_view name);

// The smallest number of the series above `number`, the largest below it. Zero stays zero.
double RoundUp(const NumberSeries& series, double number);
double RoundDown(const NumberSeries& series, double number);

}  // namespace quire::exec
