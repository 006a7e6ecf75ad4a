// SPDX-License-Identifier: Apache-2.0
//
// The keys of geo indexes as 64-bit numbers: ids of S2 cells (2dsphere), and cells of a square grid
// on the plane (2d), where a cell's number starts with the numbers of the larger cells around it.
#pragma once

#include <cstdint>
#include <vector>

#include "expr/geo/flat.h"
#include "quire/bson.h"
#include "quire/status.h"

namespace quire::expr::geo {

// Sorts, and unites what overlaps.
void Unite(std::vector<KeyRange>* ranges);
// Takes all numbers of `taken` out of *ranges. REQUIRES: both are united.
void Subtract(const std::vector<KeyRange>& taken, std::vector<KeyRange>* ranges);

// Ranges of cell ids, one of which holds some cell of every geometry that has a part at a distance
// of `min_radians` to `max_radians` from `center` (degrees).
std::vector<KeyRange> RingCells(FlatPoint center, double min_radians, double max_radians);

// What part of the plane (degrees) the points within `radians` of `center` lie in.
FlatBox BoxAround(FlatPoint center, double radians);

// The grid of a 2d index.
struct FlatGrid {
  int bits = 26;  // the finest cells are 2^bits to a side
  double min = -180;
  double max = 180;

  // From the options of an index.
  static FlatGrid FromIndex(bson::View index);
  bool Holds(FlatPoint point) const;
  // Error 13027 when the point lies outside.
  Result<uint64_t> CellOf(FlatPoint point) const;
  // Ranges of cells that cover the box; none when it lies outside.
  std::vector<KeyRange> Cover(const FlatBox& box) const;
};

}  // namespace quire::expr::geo
