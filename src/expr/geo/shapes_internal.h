// SPDX-License-Identifier: Apache-2.0
//
// The S2 objects behind a geometry. Private to expr/geo.
#pragma once

#include <s2/s2cap.h>
#include <s2/s2cell_union.h>
#include <s2/s2point.h>
#include <s2/s2polygon.h>
#include <s2/s2polyline.h>
#include <s2/s2region.h>

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "expr/geo/geometry.h"

namespace quire::expr::geo {

struct Geometry::Shapes {
  std::vector<S2Point> points;  // in the order of PointLess
  std::vector<std::unique_ptr<S2Polyline>> lines;
  std::vector<std::unique_ptr<S2Polygon>> polygons;
  std::optional<S2Cap> cap;
  bool strict_winding = false;
};

S2Point ToS2(FlatPoint degrees);

// Some order of points, by which they are found again.
inline bool PointLess(const S2Point& a, const S2Point& b) {
  return std::array{a.x(), a.y(), a.z()} < std::array{b.x(), b.y(), b.z()};
}

S2CellUnion CoverRegion(const S2Region& region, const CellLevels& levels = {}, int most_cells = 20);
// The ids of the cells, of all within them and of all around them; united.
std::vector<KeyRange> RangesOf(const S2CellUnion& cells);

}  // namespace quire::expr::geo
