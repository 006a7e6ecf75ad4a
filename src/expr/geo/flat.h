// SPDX-License-Identifier: Apache-2.0
//
// Points and boxes on the plane, and the numbers that geo indexes hold.
#pragma once

#include <compare>
#include <cstdint>

namespace quire::expr::geo {

struct FlatPoint {
  double x = 0;
  double y = 0;
};

struct FlatBox {
  FlatPoint low;
  FlatPoint high;
};

// Keys of a geo index from `low` to `high`, both included.
struct KeyRange {
  uint64_t low = 0;
  uint64_t high = 0;
  friend auto operator<=>(const KeyRange&, const KeyRange&) = default;
};

// Sizes of the S2 cells that an index holds: 0 is a sixth of the sphere, 30 a square centimetre.
struct CellLevels {
  int coarsest = 0;
  int finest = 23;
};

}  // namespace quire::expr::geo
