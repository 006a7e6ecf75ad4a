// SPDX-License-Identifier: Apache-2.0
#include "expr/geo/geometry.h"

#include <s2/s2cell.h>
#include <s2/s2cell_union.h>
#include <s2/s2edge_distances.h>
#include <s2/s2region_coverer.h>

#include <algorithm>
#include <cmath>

#include "base/current_op.h"
#include "base/try.h"
#include "expr/geo/cells.h"
#include "expr/geo/relation.h"
#include "expr/geo/shapes_internal.h"

namespace quire::expr::geo {
namespace {

using Shapes = Geometry::Shapes;

// These say "no" once the thread's operation is to end: there may be many parts, and each is
// compared with many others.
template <typename Parts, typename Is>
bool AnyOf(const Parts& parts, const Is& is) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](const auto& part) { return CheckCurrentOp().ok() && is(part); });
}
template <typename Parts, typename Is>
bool AllOf(const Parts& parts, const Is& is) {
  return std::all_of(parts.begin(), parts.end(),
                     [&](const auto& part) { return CheckCurrentOp().ok() && is(part); });
}

// ------------------------------------------------------------------ one part with one part
bool PointMeets(const S2Point& point, const Shapes& other) {
  S2Cell cell(point);
  auto may_meet = [&](const auto& shape) { return shape->MayIntersect(cell); };
  return std::binary_search(other.points.begin(), other.points.end(), point, PointLess) ||
         AnyOf(other.lines, may_meet) || AnyOf(other.polygons, may_meet) ||
         (other.cap && other.cap->Contains(point));
}

bool LineMeets(const S2Polyline& line, const Shapes& other) {
  return AnyOf(other.lines, [&](const auto& another) { return Meet(line, *another); }) ||
         AnyOf(other.polygons, [&](const auto& polygon) { return Meet(*polygon, line); });
}

bool PolygonMeets(const S2Polygon& polygon, const Shapes& other) {
  return AnyOf(other.polygons, [&](const auto& another) { return Meet(polygon, *another); });
}

S1Angle DistanceTo(const S2Point& point, const S2Polyline& line) {
  S1Angle best = S1Angle::Infinity();
  for (int i = 0; i + 1 < line.num_vertices(); ++i) {
    best = std::min(best, S2::GetDistance(point, line.vertex(i), line.vertex(i + 1)));
  }
  return best;
}

// ------------------------------------------------------------------ a cap
bool CapHoldsAll(const S2Cap& cap, const Shapes& other) {
  auto holds_line = [&](const auto& line) {
    for (int i = 0; i < line->num_vertices(); ++i) {
      if (!cap.Contains(line->vertex(i))) {
        return false;
      }
    }
    return true;
  };
  auto holds_polygon = [&](const auto& polygon) { return cap.Contains(polygon->GetCapBound()); };
  return AllOf(other.points,
               [&](const S2Point& point) { return cap.MayIntersect(S2Cell(point)); }) &&
         AllOf(other.lines, holds_line) && AllOf(other.polygons, holds_polygon);
}

template <typename Part>
bool SomePolygonHolds(const Shapes& shapes, const Part& part) {
  return AnyOf(shapes.polygons, [&](const auto& polygon) { return Holds(*polygon, part); });
}

Result<S2CellUnion> Cover(const Shapes& shapes, const CellLevels& levels) {
  std::vector<S2CellId> cells;
  Status ended = Status::Ok();
  auto add = [&](const S2Region& region) {
    ended = ended.ok() ? CheckCurrentOp() : ended;
    if (ended.ok()) {
      S2CellUnion covering = CoverRegion(region, levels);
      cells.insert(cells.end(), covering.begin(), covering.end());
    }
  };
  for (const S2Point& point : shapes.points) {
    cells.push_back(S2CellId(point).parent(levels.finest));
  }
  for (const auto& line : shapes.lines) {
    add(*line);
  }
  for (const auto& polygon : shapes.polygons) {
    add(*polygon);
  }
  if (shapes.cap) {
    add(*shapes.cap);
  }
  RETURN_IF_ERROR(ended);
  return S2CellUnion(std::move(cells));
}

}  // namespace

Geometry::Geometry(std::unique_ptr<Shapes> shapes, std::optional<FlatPoint> point, bool spherical,
                   bool is_geojson)
    : shapes_(std::move(shapes)), point_(point), spherical_(spherical), is_geojson_(is_geojson) {}

Geometry::~Geometry() = default;

std::shared_ptr<const Geometry> Geometry::FromCap(FlatPoint center, double radians) {
  auto shapes = std::make_unique<Shapes>();
  shapes->cap = S2Cap(ToS2(center), S1Angle::Radians(std::min(radians, M_PI)));
  return std::make_shared<Geometry>(std::move(shapes), std::nullopt, true, false);
}

bool Geometry::only_polygons() const {
  return !shapes_->polygons.empty() && shapes_->points.empty() && shapes_->lines.empty();
}

bool Geometry::Intersects(const Geometry& other) const {
  const Shapes& a = *shapes_;
  const Shapes& b = *other.shapes_;
  return AnyOf(a.points, [&](const S2Point& point) { return PointMeets(point, b); }) ||
         AnyOf(b.points, [&](const S2Point& point) { return PointMeets(point, a); }) ||
         AnyOf(a.lines, [&](const auto& line) { return LineMeets(*line, b); }) ||
         AnyOf(b.lines, [&](const auto& line) { return LineMeets(*line, a); }) ||
         AnyOf(a.polygons, [&](const auto& polygon) { return PolygonMeets(*polygon, b); });
}

bool Geometry::Contains(const Geometry& other) const {
  const Shapes& b = *other.shapes_;
  if (b.points.empty() && b.lines.empty() && b.polygons.empty()) {
    return false;
  }
  if (shapes_->cap) {
    return CapHoldsAll(*shapes_->cap, b);
  }
  // Points on the edge are within.
  auto holds_point = [&](const S2Point& point) {
    return SomePolygonHolds(*shapes_, point) || AnyOf(shapes_->polygons, [&](const auto& polygon) {
             return polygon->MayIntersect(S2Cell(point));
           });
  };
  auto holds = [&](const auto& part) { return SomePolygonHolds(*shapes_, *part); };
  return AllOf(b.points, holds_point) && AllOf(b.lines, holds) && AllOf(b.polygons, holds);
}

double Geometry::RadiansTo(FlatPoint from) const {
  S2Point center = ToS2(from);
  S1Angle best = S1Angle::Infinity();
  for (const S2Point& point : shapes_->points) {
    best = std::min(best, S1Angle(center, point));
  }
  for (const auto& line : shapes_->lines) {
    best = std::min(best, DistanceTo(center, *line));
  }
  for (const auto& polygon : shapes_->polygons) {
    if (!CheckCurrentOp().ok()) {
      break;
    }
    best = std::min(best, polygon->GetDistance(center));
  }
  return best.radians();
}

Result<std::vector<uint64_t>> Geometry::Cells(const CellLevels& levels) const {
  ASSIGN_OR_RETURN(S2CellUnion cells, Cover(*shapes_, levels));
  std::vector<uint64_t> ids;
  ids.reserve(cells.size());
  for (S2CellId cell : cells) {
    ids.push_back(cell.id());
  }
  return ids;
}

std::vector<KeyRange> Geometry::CellRanges() const {
  // Each cell is a range of an index, and so is each of those around it: a scan of thousands costs
  // more than the documents that fewer and larger ones find in vain.
  constexpr int kMostRanges = 500;
  auto cells = Cover(*shapes_, {});
  if (!cells.ok()) {
    return {};
  }
  return RangesOf(cells->size() <= kMostRanges ? *cells : CoverRegion(*cells, {}, kMostRanges));
}

bool Geometry::big_polygon() const { return shapes_->strict_winding; }

std::optional<FlatBox> Geometry::CapBox() const {
  if (!shapes_->cap) {
    return std::nullopt;
  }
  S2LatLng center(shapes_->cap->center());
  return BoxAround({center.lng().degrees(), center.lat().degrees()},
                   shapes_->cap->GetRadius().radians());
}

S2CellUnion CoverRegion(const S2Region& region, const CellLevels& levels, int most_cells) {
  S2RegionCoverer::Options options;
  options.set_max_level(levels.finest);
  options.set_min_level(levels.coarsest);
  options.set_max_cells(most_cells);
  S2RegionCoverer coverer(options);
  return coverer.GetCovering(region);
}

std::vector<KeyRange> RangesOf(const S2CellUnion& cells) {
  std::vector<KeyRange> ranges;
  for (S2CellId cell : cells) {
    ranges.push_back({cell.range_min().id(), cell.range_max().id()});
    // Larger cells around this one stand for geometries wider than it.
    for (int level = cell.level() - 1; level >= 0; --level) {
      uint64_t parent = cell.parent(level).id();
      ranges.push_back({parent, parent});
    }
  }
  Unite(&ranges);
  return ranges;
}

double FlatDistance(FlatPoint a, FlatPoint b) { return std::hypot(a.x - b.x, a.y - b.y); }

double SphereDistance(FlatPoint a, FlatPoint b) { return S1Angle(ToS2(a), ToS2(b)).radians(); }

}  // namespace quire::expr::geo
