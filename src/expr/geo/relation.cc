// SPDX-License-Identifier: Apache-2.0
#include "expr/geo/relation.h"

#include <s2/s2cell.h>
#include <s2/s2wedge_relations.h>

#include <memory>
#include <utility>
#include <vector>

#include "base/error_codes.h"
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
      one.shape == 0 ? touch(index, one, other) : touch(index, other, one);
    }
    return Status::Ok();
  };
  bool compared = index.Add(std::move(a)).ok() && index.Add(std::move(b)).ok() &&
                  index.Build().ok() && index.VisitPairs(/*across=*/true, visit).ok();
  found.ended = !compared && !found.crossing;
  return found;
}

// Where the edge after this one leads to.
S2Point Next(const EdgeIndex& index, const Edge& edge) {
  const S2Shape& shape = *index.shapes().shape(edge.shape);
  S2Shape::ChainPosition at = shape.chain_position(edge.number);
  int next = at.offset + 1 == shape.chain(at.chain_id).length ? 0 : at.offset + 1;
  return shape.chain_edge(at.chain_id, next).v1;
}

// Two large polygons. Inner sides are on the left of all edges, so that wedges tell what lies
// beside a common corner; a ring without one lies on one side of the other polygon as a whole.
struct Polygons {
  Polygons(const S2Polygon& first, const S2Polygon& second)
      : a(first), b(second), a_touches(first.num_loops()), b_touches(second.num_loops()) {
    boundaries =
        Compare(std::make_unique<S2Polygon::Shape>(&a), std::make_unique<S2Polygon::Shape>(&b),
                [this](const EdgeIndex& index, const Edge& one, const Edge& other) {
                  Touch(index, one, other);
                });
  }

  void Touch(const EdgeIndex& index, const Edge& one, const Edge& other) {
    S2Point one_next = Next(index, one);
    S2Point other_next = Next(index, other);
    overlap = overlap || S2::WedgeIntersects(one.from, one.to, one_next, other.from, other_next);
    outside = outside || !S2::WedgeContains(one.from, one.to, one_next, other.from, other_next);
    a_touches[index.shapes().shape(0)->chain_position(one.number).chain_id] = true;
    b_touches[index.shapes().shape(1)->chain_position(other.number).chain_id] = true;
  }

  // Some ring of `rings` that does not touch lies within `area` (or outside of it).
  static bool AnyWithin(const S2Polygon& area, const S2Polygon& rings,
                        const std::vector<bool>& touches, bool within) {
    for (int i = 0; i < rings.num_loops() && CheckCurrentOp().ok(); ++i) {
      if (!touches[i] && area.Contains(rings.loop(i)->vertex(0)) == within) {
        return true;
      }
    }
    return false;
  }

  // What lies beside a common corner is not told by two wedges where more rings may meet.
  bool IsPlain() const {
    return boundaries.crossing || boundaries.ended || !boundaries.touching ||
           (a.num_loops() == 1 && b.num_loops() == 1);
  }
  bool Meet() const {
    return boundaries.crossing ||
           (!boundaries.ended &&
            (overlap || AnyWithin(a, b, b_touches, true) || AnyWithin(b, a, a_touches, true)));
  }
  bool Holds() const {
    return !boundaries.crossing && !boundaries.ended && !outside &&
           !AnyWithin(a, b, b_touches, false) && !AnyWithin(b, a, a_touches, true);
  }

  const S2Polygon& a;
  const S2Polygon& b;
  std::vector<bool> a_touches;  // by ring: has a corner of the other
  std::vector<bool> b_touches;
  bool overlap = false;  // beside some common corner
  bool outside = false;  // beside some common corner is a part of b outside of a
  Boundaries boundaries;
};

constexpr auto kIgnore = [](const EdgeIndex&, const Edge&, const Edge&) {};

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

bool Meet(const S2Polygon& a, const S2Polygon& b) {
  Polygons both(a, b);
  return both.IsPlain() ? both.Meet() : a.Intersects(b);
}

bool Holds(const S2Polygon& a, const S2Polyline& b) {
  Boundaries found = Compare(a, b);
  return !found.crossing && !found.ended && !SomeVertex(found, b, [&](const S2Point& vertex) {
    return !a.Contains(vertex) && !a.MayIntersect(S2Cell(vertex));
  });
}

bool Holds(const S2Polygon& a, const S2Polygon& b) {
  Polygons both(a, b);
  return both.IsPlain() ? both.Holds() : a.Contains(b);
}

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
