// SPDX-License-Identifier: Apache-2.0
#include "expr/geo/relation.h"

#include <s2/s2cell.h>

#include <memory>
#include <utility>

#include "base/error_codes.h"
#include "expr/geo/corners.h"
#include "expr/geo/edge_index_internal.h"

namespace quire::expr::geo {
namespace {

using Edge = EdgeIndex::Edge;

// S2 is quick with those that have fewer pairs of edges.
template <typename A, typename B>
bool IsSmall(const A& a, const B& b) {
  constexpr int64_t kFewPairs = int64_t{1} << 24;
  return int64_t{a.num_vertices()} * b.num_vertices() <= kFewPairs;
}

// How the boundaries of two shapes lie to each other; what was found before something ended it.
struct Boundaries {
  bool crossing = false;
  bool touching = false;  // there is a common corner
  bool ended = false;     // the operation is to end
};

// Ends the search; no error that anybody sees.
Status Enough() { return {kInterrupted, ""}; }

// Looks for a crossing of `a` and `b`; calls touch(a, b) for edges that end in a common corner.
template <typename Touch>
Boundaries Compare(std::unique_ptr<S2Shape> a, std::unique_ptr<S2Shape> b, const Touch& touch) {
  Boundaries found;
  EdgeIndex index;
  auto visit = [&](const Edge& one, const Edge& other, bool crosses) -> Status {
    found.crossing = crosses;
    if (crosses) {
      return Enough();
    }
    found.touching = true;
    if (SamePoint(one.to, other.to)) {
      one.shape == 0 ? touch(one, other) : touch(other, one);
    }
    return Status::Ok();
  };
  index.Add(std::move(a));
  index.Add(std::move(b));
  bool compared = index.Build().ok() && index.VisitPairs(/*across=*/true, visit).ok();
  found.ended = !compared && !found.crossing;
  return found;
}

// Two large polygons. What lies beside their common corners tells of the rings that have one; a
// ring without one lies on one side of the other polygon as a whole.
struct Polygons {
  Polygons(const S2Polygon& first, const S2Polygon& second) : a(first), b(second) {
    boundaries = Compare(std::make_unique<S2Polygon::Shape>(&first),
                         std::make_unique<S2Polygon::Shape>(&second),
                         [this](const Edge& one, const Edge& other) {
                           a.Touch(one.number);
                           b.Touch(other.number);
                         });
    if (boundaries.crossing || boundaries.ended || !boundaries.touching) {
      return;
    }
    auto seen = LookAround(a, b);
    boundaries.ended = !seen.ok();
    beside = seen.ok() ? *seen : BesideCorners{};
  }

  bool Meet() const {
    return boundaries.crossing ||
           (!boundaries.ended && (beside.overlap || b.HasFreeRing(a.polygon(), /*within=*/true) ||
                                  a.HasFreeRing(b.polygon(), /*within=*/true)));
  }
  bool Holds() const {
    return !boundaries.crossing && !boundaries.ended && !beside.outside &&
           !b.HasFreeRing(a.polygon(), /*within=*/false) &&
           !a.HasFreeRing(b.polygon(), /*within=*/true);
  }

  TouchedPolygon a;
  TouchedPolygon b;
  Boundaries boundaries;
  BesideCorners beside;
};

constexpr auto kIgnore = [](const Edge&, const Edge&) {};

Boundaries Compare(const S2Polygon& a, const S2Polyline& b) {
  return Compare(std::make_unique<S2Polygon::Shape>(&a), std::make_unique<S2Polyline::Shape>(&b),
                 kIgnore);
}

// A line that does not cross lies on one side, between its common corners with the polygon.
template <typename Is>
bool SomeVertex(const Boundaries& found, const S2Polyline& line, const Is& is) {
  const int count = found.touching ? line.num_vertices() : 1;
  for (int i = 0; i < count && CheckCurrentOp().ok(); ++i) {
    if (is(line.vertex(i))) {
      return true;
    }
  }
  return false;
}

}  // namespace

namespace in_steps {

bool Meet(const S2Polyline& a, const S2Polyline& b) {
  Boundaries found = Compare(std::make_unique<S2Polyline::Shape>(&a),
                             std::make_unique<S2Polyline::Shape>(&b), kIgnore);
  return found.crossing || (found.touching && !found.ended);
}

bool Meet(const S2Polygon& a, const S2Polyline& b) {
  Boundaries found = Compare(a, b);
  return found.crossing || (!found.ended && SomeVertex(found, b, [&](const S2Point& vertex) {
           return a.Contains(vertex);
         }));
}

bool Meet(const S2Polygon& a, const S2Polygon& b) { return Polygons(a, b).Meet(); }

bool Holds(const S2Polygon& a, const S2Polyline& b) {
  Boundaries found = Compare(a, b);
  return !found.crossing && !found.ended && !SomeVertex(found, b, [&](const S2Point& vertex) {
    return !a.Contains(vertex) && !a.MayIntersect(S2Cell(vertex));
  });
}

bool Holds(const S2Polygon& a, const S2Polygon& b) { return Polygons(a, b).Holds(); }

}  // namespace in_steps

bool Meet(const S2Polyline& a, const S2Polyline& b) {
  return IsSmall(a, b) ? a.Intersects(b) : in_steps::Meet(a, b);
}

bool Meet(const S2Polygon& a, const S2Polyline& b) {
  return IsSmall(a, b) ? a.Intersects(b) : in_steps::Meet(a, b);
}

bool Meet(const S2Polygon& a, const S2Polygon& b) {
  return IsSmall(a, b) ? a.Intersects(b) : in_steps::Meet(a, b);
}

bool Holds(const S2Polygon& a, const S2Polyline& b) {
  return IsSmall(a, b) ? a.Contains(b) : in_steps::Holds(a, b);
}

bool Holds(const S2Polygon& a, const S2Polygon& b) {
  return IsSmall(a, b) ? a.Contains(b) : in_steps::Holds(a, b);
}

}  // namespace quire::expr::geo
