// SPDX-License-Identifier: Apache-2.0
//
// Which edges cross, looked for in steps between which the operation may end. S2's own functions
// compare all pairs of edges that lie together, which are many when edges are long. Private to
// expr/geo.
#pragma once

#include <s2/mutable_s2shape_index.h>
#include <s2/s2edge_crosser.h>
#include <s2/s2shape.h>

#include <memory>
#include <utility>
#include <vector>

#include "base/current_op.h"
#include "base/try.h"
#include "expr/geo/index_build.h"

namespace quire::expr::geo {

// S2's own comparison is ambiguous in C++20.
inline bool SamePoint(const S2Point& a, const S2Point& b) {
  return a.x() == b.x() && a.y() == b.y() && a.z() == b.z();
}

// The edges of shapes by place.
class EdgeIndex {
 public:
  // An edge by its number in a shape, and the shape by the number of those added before it.
  struct Edge {
    int shape;
    int number;
    S2Point from;
    S2Point to;
  };

  void Add(std::unique_ptr<S2Shape> shape) { index_.Add(std::move(shape)); }
  // After the last Add. Why the operation must stop.
  Status Build() { return BuildIndex(&index_); }
  const MutableS2ShapeIndex& shapes() const { return index_; }

  // Calls visit(a, b, crosses) for all pairs of edges, of one shape or (`across`) of two, that
  // cross or have an end in common, perhaps more than once. Ends when it fails.
  template <typename Visit>
  Status VisitPairs(bool across, const Visit& visit) const {
    std::vector<Edge> edges;
    MutableS2ShapeIndex::Iterator cell(&index_, S2ShapeIndex::BEGIN);
    for (; !cell.done(); cell.Next()) {
      Collect(cell.cell(), &edges);
      for (size_t i = 0; i < edges.size(); ++i) {
        RETURN_IF_ERROR(CheckCurrentOp());
        RETURN_IF_ERROR(VisitPairsOf(edges, i, across, visit));
      }
    }
    return Status::Ok();
  }

 private:
  void Collect(const S2ShapeIndexCell& cell, std::vector<Edge>* edges) const {
    edges->clear();
    for (int s = 0; s < cell.num_clipped(); ++s) {
      const S2ClippedShape& clipped = cell.clipped(s);
      const S2Shape& shape = *index_.shape(clipped.shape_id());
      for (int e = 0; e < clipped.num_edges(); ++e) {
        S2Shape::Edge edge = shape.edge(clipped.edge(e));
        edges->push_back({clipped.shape_id(), clipped.edge(e), edge.v0, edge.v1});
      }
    }
  }

  template <typename Visit>
  static Status VisitPairsOf(const std::vector<Edge>& edges, size_t first, bool across,
                             const Visit& visit) {
    const Edge& a = edges[first];
    S2CopyingEdgeCrosser crosser(a.from, a.to);
    for (size_t j = first + 1; j < edges.size(); ++j) {
      const Edge& b = edges[j];
      if ((a.shape != b.shape) != across) {
        continue;
      }
      int sign = crosser.CrossingSign(b.from, b.to);
      if (sign >= 0) {
        RETURN_IF_ERROR(visit(a, b, sign > 0));
      }
    }
    return Status::Ok();
  }

  MutableS2ShapeIndex index_;
};

}  // namespace quire::expr::geo
