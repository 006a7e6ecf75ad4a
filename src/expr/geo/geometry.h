// SPDX-License-Identifier: Apache-2.0
//
// Geometries as documents store them: GeoJSON objects and legacy coordinate pairs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "expr/geo/flat.h"
#include "quire/bson.h"
#include "quire/status.h"

namespace quire::expr::geo {

// What distances in metres are computed with.
inline constexpr double kEarthRadiusMeters = 6378100.0;

// Points, lines and polygons on the sphere; a single point also has flat coordinates. Immutable
// and safe for concurrent use.
class Geometry {
 public:
  // GeoJSON: {type, coordinates} of any of the seven types. BadValue when malformed.
  static Result<std::shared_ptr<const Geometry>> FromGeoJson(bson::View object);
  // A stored value: GeoJSON, [x, y] or {x, y}. BadValue for anything else. Legacy points beyond the
  // sphere's coordinates have a flat form only.
  static Result<std::shared_ptr<const Geometry>> FromStored(const bson::Value& value);
  // All points closer to `center` (degrees) than `radians`.
  static std::shared_ptr<const Geometry> FromCap(FlatPoint center, double radians);
  ~Geometry();

  // The pair of a legacy or GeoJSON point.
  const std::optional<FlatPoint>& point() const { return point_; }
  // False for a legacy point that is only flat.
  bool spherical() const { return spherical_; }
  bool is_geojson() const { return is_geojson_; }
  // Polygons and multi-polygons, and nothing else.
  bool only_polygons() const;

  // These two answer "no" once the thread's operation is to end.
  bool Intersects(const Geometry& other) const;
  // Every part of `other` lies within this one's polygons or cap.
  bool Contains(const Geometry& other) const;
  // The shortest way from a point (degrees) to any part, in radians; more than that once the
  // thread's operation is to end.
  double RadiansTo(FlatPoint from) const;

  // A polygon that is read as wound and may be larger than a half of the sphere.
  bool big_polygon() const;
  // What part of the plane a cap lies in; nothing for other shapes.
  std::optional<FlatBox> CapBox() const;

  // Ids of S2 cells that cover the geometry: what a 2dsphere index stores for it. Fails when the
  // thread's operation is to end.
  Result<std::vector<uint64_t>> Cells(const CellLevels& levels = {}) const;
  // Ranges of cell ids, one of which holds some cell of every geometry that this one intersects;
  // any once the thread's operation is to end.
  std::vector<KeyRange> CellRanges() const;

  struct Shapes;  // S2 objects
  Geometry(std::unique_ptr<Shapes> shapes, std::optional<FlatPoint> point, bool spherical,
           bool is_geojson);

 private:
  std::unique_ptr<Shapes> shapes_;
  std::optional<FlatPoint> point_;
  bool spherical_;
  bool is_geojson_;
};

// An array or document that begins with two finite numbers; nothing when it is neither. With
// `exact` there may be nothing after them.
std::optional<FlatPoint> LegacyPoint(const bson::Value& value, bool exact = false);
// The distance of two points on the plane, and on the sphere (degrees in, radians out).
double FlatDistance(FlatPoint a, FlatPoint b);
double SphereDistance(FlatPoint a, FlatPoint b);
// Longitude and latitude within [-180, 180] and [-90, 90].
bool IsOnSphere(FlatPoint point);

}  // namespace quire::expr::geo
