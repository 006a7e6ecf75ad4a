// SPDX-License-Identifier: Apache-2.0
//
// The areas and points that geo queries name.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "expr/geo/geometry.h"

namespace quire::expr::geo {

// The argument of $geoWithin or $geoIntersects. Immutable and safe for concurrent use.
class Area {
 public:
  // One of $geometry, $box, $center, $centerSphere, $polygon. BadValue when malformed.
  static Result<std::shared_ptr<const Area>> Parse(bson::View spec);
  virtual ~Area() = default;

  virtual bool Contains(const Geometry& stored) const = 0;
  virtual bool Intersects(const Geometry& stored) const = 0;
  // The area on the sphere; null for flat ones ($box, $center, $polygon).
  virtual const Geometry* sphere() const { return nullptr; }
  // What part of the plane it lies in; nothing for $geometry.
  virtual std::optional<FlatBox> Bounds() const = 0;
};

// The argument of $near and $nearSphere.
struct Near {
  FlatPoint center;
  bool geojson = false;  // distances are metres
  bool sphere = false;   // else flat; legacy distances on the sphere are radians
  double min_distance = 0;
  double max_distance = 0;  // infinite when not limited

  // Radians in one unit of the query's distances.
  double RadiansPerUnit() const { return geojson ? 1 / kEarthRadiusMeters : 1; }
  // The distance to a stored geometry in the query's unit; nothing when it cannot be measured or
  // lies outside the limits.
  std::optional<double> DistanceTo(const Geometry& stored) const;
};

// `operand` is the value of `name` ($near, $nearSphere or $geoNear), `siblings` the document it
// stands in, where legacy forms have $minDistance and $maxDistance.
Result<Near> ParseNear(std::string_view name, const bson::Value& operand, bson::View siblings);

}  // namespace quire::expr::geo
