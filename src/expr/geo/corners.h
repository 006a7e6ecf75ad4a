// SPDX-License-Identifier: Apache-2.0
//
// What lies around the corners that two polygons have in common. Private to expr/geo.
#pragma once

#include <s2/s2point.h>
#include <s2/s2polygon.h>

#include <vector>

#include "quire/status.h"

namespace quire::expr::geo {

// A ring on its way through a corner; the inner side is on its left.
struct Wedge {
  S2Point from;
  S2Point corner;
  S2Point next;
};

// A polygon and where another one touches it.
class TouchedPolygon {
 public:
  explicit TouchedPolygon(const S2Polygon& polygon);

  // The edge, by its number in S2Polygon::Shape, ends in a corner of the other polygon.
  void Touch(int edge);
  // Some ring without such a corner has its first one within `area` (or outside of it). No once the
  // thread's operation is to end.
  bool HasFreeRing(const S2Polygon& area, bool within) const;
  // All wedges at corners of the other polygon, by corner. Why the operation must stop.
  Result<std::vector<Wedge>> Wedges() const;

  const S2Polygon& polygon() const { return polygon_; }

 private:
  const S2Polygon& polygon_;
  S2Polygon::Shape shape_;
  std::vector<bool> common_;   // by edge
  std::vector<bool> touched_;  // by ring
};

// What lies beside the common corners of polygons that do not cross.
struct BesideCorners {
  bool overlap = false;  // something of both
  bool outside = false;  // something of b that is not in a
};
Result<BesideCorners> LookAround(const TouchedPolygon& a, const TouchedPolygon& b);

}  // namespace quire::expr::geo
