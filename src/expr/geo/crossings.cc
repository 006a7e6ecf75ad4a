// SPDX-License-Identifier: Apache-2.0
#include "expr/geo/crossings.h"

#include <s2/s2contains_point_query.h>
#include <s2/s2polygon.h>
#include <s2/s2wedge_relations.h>
#include <s2/util/coding/coder.h>

#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "base/current_op.h"
#include "base/error_codes.h"
#include "base/try.h"
#include "expr/geo/edge_index_internal.h"

namespace quire::expr::geo {
namespace {

Status Bad(std::string message) { return Status(kBadValue, std::move(message)); }

const char* const kNotAHole =
    "Secondary loops not contained by first exterior loop - secondary loops must be holes";

std::string Names(const EdgeIndex::Edge& a, const char* relation, const EdgeIndex::Edge& b) {
  return "Polygon isn't valid: Loop " + std::to_string(a.shape) + " edge " +
         std::to_string(a.number) + relation + std::to_string(b.shape) + " edge " +
         std::to_string(b.number);
}

// Rings that are told apart by what they are to the first one and to each other.
class Holes {
 public:
  explicit Holes(const Loops& rings) : rings_(rings), touches_within_(rings.size()) {}

  Status Check() {
    for (const auto& ring : rings_) {
      index_.Add(std::make_unique<S2Loop::Shape>(ring.get()));
    }
    RETURN_IF_ERROR(index_.Build());
    RETURN_IF_ERROR(index_.VisitPairs(
        /*across=*/true, [this](const EdgeIndex::Edge& a, const EdgeIndex::Edge& b, bool crosses) {
          return a.shape < b.shape ? Compare(a, b, crosses) : Compare(b, a, crosses);
        }));
    RETURN_IF_ERROR(CheckWithinFirst());
    return CheckNotNested();
  }

 private:
  // a.shape < b.shape
  Status Compare(const EdgeIndex::Edge& a, const EdgeIndex::Edge& b, bool crosses) {
    if (crosses) {
      return Bad(a.shape == 0 ? kNotAHole : Names(a, " crosses loop ", b));
    }
    if (!SamePoint(a.to, b.to)) {
      return Status::Ok();  // each common corner is looked at where both edges end in it
    }
    const S2Point& a_next = rings_[a.shape]->vertex(a.number + 2);
    const S2Point& b_next = rings_[b.shape]->vertex(b.number + 2);
    if (SamePoint(a.from, b.from) || SamePoint(a.from, b_next)) {
      return Bad(Names(a, " has duplicate near loop ", b));
    }
    // One way round or the other, as a wedge may hold all that the other one does not.
    if (S2::GetWedgeRelation(a.from, a.to, a_next, b.from, b_next) == S2::WEDGE_PROPERLY_OVERLAPS &&
        S2::GetWedgeRelation(a.from, a.to, a_next, b_next, b.from) == S2::WEDGE_PROPERLY_OVERLAPS) {
      return Bad(a.shape == 0 ? kNotAHole : Names(a, " crosses loop ", b));
    }
    bool contains = S2::WedgeContains(a.from, a.to, a_next, b.from, b_next);
    if (a.shape == 0) {
      touches_within_[b.shape] = contains;
      return Status::Ok();
    }
    return contains || S2::WedgeContains(b.from, b.to, b_next, a.from, a_next) ? Nested()
                                                                               : Status::Ok();
  }

  static Status Nested() { return Bad("Polygon interior loops cannot be nested"); }

  // Rings do not cross: one corner tells.
  Status CheckWithinFirst() const {
    auto query = MakeS2ContainsPointQuery(&index_.shapes());
    const S2Shape& first = *index_.shapes().shape(0);
    for (size_t i = 1; i < rings_.size(); ++i) {
      RETURN_IF_ERROR(CheckCurrentOp());
      bool within = touches_within_[i] ? *touches_within_[i]
                                       : query.ShapeContains(first, rings_[i]->vertex(0));
      if (!within) {
        return Bad(kNotAHole);
      }
    }
    return Status::Ok();
  }

  Status CheckNotNested() const {
    auto query = MakeS2ContainsPointQuery(&index_.shapes(),
                                          S2ContainsPointQueryOptions(S2VertexModel::OPEN));
    for (int i = 1; i < static_cast<int>(rings_.size()); ++i) {
      RETURN_IF_ERROR(CheckCurrentOp());
      bool alone = query.VisitContainingShapes(rings_[i]->vertex(0), [&](S2Shape* shape) {
        return shape->id() == 0 || shape->id() == i;
      });
      if (!alone) {
        return Nested();
      }
    }
    return Status::Ok();
  }

  const Loops& rings_;
  EdgeIndex index_;
  std::vector<std::optional<bool>> touches_within_;  // of rings that have a corner of the first one
};

}  // namespace

Status CheckRing(const S2Loop& ring) {
  for (int i = 0; i < ring.num_vertices(); ++i) {
    if (SamePoint(ring.vertex(i), -ring.vertex(i + 1))) {
      return Bad("Loop is not valid: Vertices " + std::to_string(i) + " and " +
                 std::to_string(i + 1) + " are antipodal");
    }
  }
  EdgeIndex index;
  index.Add(std::make_unique<S2Loop::Shape>(&ring));
  RETURN_IF_ERROR(index.Build());
  return index.VisitPairs(
      /*across=*/false,
      [](const EdgeIndex::Edge& a, const EdgeIndex::Edge& b, bool crosses) -> Status {
        if (!crosses && !SamePoint(a.to, b.to)) {
          return Status::Ok();  // neighbours
        }
        return Bad("Loop is not valid: Edge " + std::to_string(a.number) +
                   (crosses ? " crosses edge " : " has duplicate vertex with edge ") +
                   std::to_string(b.number));
      });
}

Status CheckHoles(const Loops& rings) {
  return rings.size() == 1 ? Status::Ok() : Holes(rings).Check();
}

std::unique_ptr<S2Polygon> PolygonOf(Loops rings) {
  constexpr size_t kFewRings = 500;
  constexpr int kFewCorners = 10'000;
  const int corners = std::accumulate(rings.begin(), rings.end(), 0, [](int sum, const auto& ring) {
    return sum + ring->num_vertices();
  });
  auto polygon = std::make_unique<S2Polygon>();
  polygon->set_s2debug_override(S2Debug::DISABLE);
  if (rings.size() == 1 || (rings.size() <= kFewRings && corners <= kFewCorners)) {
    polygon->InitNested(std::move(rings));
    return polygon;
  }
  // Which ring lies in which is known; S2 would compare all with all. Its stored form takes it.
  Encoder encoder;
  encoder.Ensure(16);
  encoder.put8(1);  // the version of the form without compression
  encoder.put8(1);
  encoder.put8(1);  // has holes
  encoder.put32(static_cast<uint32_t>(rings.size()));
  for (size_t i = 0; i < rings.size(); ++i) {
    rings[i]->set_depth(i == 0 ? 0 : 1);
    rings[i]->Encode(&encoder);
  }
  rings[0]->GetRectBound().Encode(&encoder);
  Decoder decoder(encoder.base(), encoder.length());
  bool decoded = polygon->Decode(&decoder);
  return decoded ? std::move(polygon) : nullptr;
}

}  // namespace quire::expr::geo
