// SPDX-License-Identifier: Apache-2.0
//
// Which rows of a partition a window function sees at a row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "expr/date/unit.h"
#include "quire/bson.h"
#include "quire/status.h"

namespace quire::exec {

struct WindowBound {
  enum class Kind { kUnbounded, kCurrent, kOffset };
  Kind kind = Kind::kUnbounded;
  bson::OwnedValue offset;  // of kOffset: a number
};

struct WindowBounds {
  bool range = false;  // by the sort field's values rather than by position
  WindowBound lower;
  WindowBound upper;
  std::optional<expr::date::Unit> unit;  // of a range over dates

  bool whole_partition() const {
    return lower.kind == WindowBound::Kind::kUnbounded &&
           upper.kind == WindowBound::Kind::kUnbounded;
  }
};

// Positions [first, second).
using Frame = std::pair<size_t, size_t>;

// The frame of every row. `keys` are the rows' values of the one field they are sorted by,
// ascending; only ranges read them. Errors 5429414 and 5429513 for values a range cannot measure.
Result<std::vector<Frame>> ComputeFrames(const WindowBounds& bounds, size_t rows,
                                         const std::vector<bson::Value>& keys);

}  // namespace quire::exec
