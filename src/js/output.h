// SPDX-License-Identifier: Apache-2.0
//
// What scripts print goes to the log, and may not fill the disk: whoever may run one may print.
#pragma once

#include <string_view>

#include "base/op_context.h"

namespace quire::js {

// Of an operation at most so much, then one line that says so.
inline constexpr uint32_t kMostLines = 100;
inline constexpr size_t kMostBytes = 100'000;
// Of a line.
inline constexpr size_t kLongestLine = 10'000;
// Of all operations: a megabyte, and this much more each second. What is left out is counted.
inline constexpr size_t kBytesAtOnce = 1'000'000;
inline constexpr size_t kBytesPerSecond = 10'000;

// Writes the line to the log, or leaves it out. `op`: whose it is; may be null.
void LogOutput(OpContext* op, std::string_view line);

}  // namespace quire::js
