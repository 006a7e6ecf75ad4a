// SPDX-License-Identifier: Apache-2.0
#include "expr/geo/corners.h"

#include <s2/s2edge_crossings.h>
#include <s2/s2pointutil.h>
#include <s2/s2predicates.h>

#include <algorithm>
#include <span>

#include "base/current_op.h"
#include "base/interruptible_sort.h"
#include "base/try.h"
#include "expr/geo/edge_index_internal.h"
#include "expr/geo/shapes_internal.h"

namespace quire::expr::geo {
namespace {

using WedgeSpan = std::span<const Wedge>;

// What begins at `direction` and goes counter-clockwise lies on the inner side of all the wedges,
// of which none ends between it and the next direction that any of them has.
bool IsWithin(const S2Point& direction, WedgeSpan wedges) {
  return std::all_of(wedges.begin(), wedges.end(), [&](const Wedge& wedge) {
    return SamePoint(direction, wedge.next) ||
           (!SamePoint(direction, wedge.from) &&
            s2pred::OrderedCCW(wedge.next, direction, wedge.from, wedge.corner));
  });
}

// The wedges of one corner at the head of `wedges`, which loses them.
WedgeSpan TakeCorner(WedgeSpan* wedges) {
  auto end = std::find_if(wedges->begin(), wedges->end(), [&](const Wedge& wedge) {
    return !SamePoint(wedge.corner, wedges->front().corner);
  });
  WedgeSpan taken = wedges->first(end - wedges->begin());
  *wedges = wedges->subspan(taken.size());
  return taken;
}

Status LookAroundOne(WedgeSpan a, WedgeSpan b, BesideCorners* beside) {
  auto look = [&](const S2Point& direction) {
    if (IsWithin(direction, b)) {
      (IsWithin(direction, a) ? beside->overlap : beside->outside) = true;
    }
  };
  for (WedgeSpan wedges : {a, b}) {
    for (const Wedge& wedge : wedges) {
      RETURN_IF_ERROR(CheckCurrentOp());
      look(wedge.from);
      look(wedge.next);
    }
  }
  return Status::Ok();
}

}  // namespace

TouchedPolygon::TouchedPolygon(const S2Polygon& polygon)
    : polygon_(polygon),
      shape_(&polygon),
      common_(shape_.num_edges()),
      touched_(polygon.num_loops()) {}

void TouchedPolygon::Touch(int edge) {
  common_[edge] = true;
  touched_[shape_.chain_position(edge).chain_id] = true;
}

bool TouchedPolygon::HasFreeRing(const S2Polygon& area, bool within) const {
  for (int i = 0; i < polygon_.num_loops() && CheckCurrentOp().ok(); ++i) {
    if (!touched_[i] && area.Contains(polygon_.loop(i)->vertex(0)) == within) {
      return true;
    }
  }
  return false;
}

Result<std::vector<Wedge>> TouchedPolygon::Wedges() const {
  std::vector<Wedge> wedges;
  for (int edge = 0; edge < shape_.num_edges(); ++edge) {
    if (!common_[edge]) {
      continue;
    }
    S2Shape::ChainPosition at = shape_.chain_position(edge);
    int next = at.offset + 1 == shape_.chain(at.chain_id).length ? 0 : at.offset + 1;
    S2Shape::Edge ends = shape_.edge(edge);
    wedges.push_back({ends.v0, ends.v1, shape_.chain_edge(at.chain_id, next).v1});
  }
  RETURN_IF_ERROR(InterruptibleSort(
      wedges.begin(), wedges.end(),
      [](const Wedge& one, const Wedge& other) { return PointLess(one.corner, other.corner); }));
  return wedges;
}

Result<BesideCorners> LookAround(const TouchedPolygon& a, const TouchedPolygon& b) {
  ASSIGN_OR_RETURN(std::vector<Wedge> all_of_a, a.Wedges());
  ASSIGN_OR_RETURN(std::vector<Wedge> all_of_b, b.Wedges());
  BesideCorners beside;
  // Corners are common, so that both have the same ones in the same order.
  WedgeSpan rest_of_a = all_of_a;
  WedgeSpan rest_of_b = all_of_b;
  while (!rest_of_a.empty() && !rest_of_b.empty()) {
    WedgeSpan of_a = TakeCorner(&rest_of_a);
    WedgeSpan of_b = TakeCorner(&rest_of_b);
    RETURN_IF_ERROR(LookAroundOne(of_a, of_b, &beside));
  }
  return beside;
}

}  // namespace quire::expr::geo
