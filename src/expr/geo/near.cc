// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/number.h"
#include "expr/geo/shape.h"

namespace quire::expr::geo {
namespace {

Status Bad(std::string message) { return Status(kBadValue, std::move(message)); }

// Codes of complaints about a distance: of the legacy form, or BadValue inside {$geometry: ...}.
struct DistanceCodes {
  int not_number;
  int negative;  // or NaN
  int infinite;
};

Result<double> Distance(const bson::Element& element, const DistanceCodes& codes) {
  bson::Value value = element.value();
  if (!value.is_number()) {
    return Status(codes.not_number, std::string(element.name()) + " must be a number");
  }
  double distance = bson::ToDouble(value);
  if (!(distance >= 0) || std::isinf(distance)) {
    return Status(std::isinf(distance) && distance > 0 ? codes.infinite : codes.negative,
                  std::string(element.name()) + " must be finite and non-negative");
  }
  return distance;
}

Status ReadDistances(bson::View document, bool legacy, Near* near) {
  bson::Element least = document.Find("$minDistance");
  bson::Element most = document.Find("$maxDistance");
  DistanceCodes least_codes = legacy ? DistanceCodes{16893, 16894, kBadValue}
                                     : DistanceCodes{kBadValue, kBadValue, kBadValue};
  DistanceCodes most_codes = legacy ? DistanceCodes{16895, 16896, kBadValue}
                                    : DistanceCodes{kBadValue, kBadValue, kBadValue};
  if (least.present()) {
    ASSIGN_OR_RETURN(near->min_distance, Distance(least, least_codes));
  }
  if (most.present()) {
    ASSIGN_OR_RETURN(near->max_distance, Distance(most, most_codes));
  }
  return Status::Ok();
}

// Sets the centre to the GeoJSON point `geometry`, whose type may be left out.
Status ReadGeoJsonPoint(const bson::Value& geometry, Near* near) {
  if (!geometry.is_document()) {
    return Bad("$near requires geojson point, given " + bson::ToJson(geometry));
  }
  bson::View object = geometry.AsDocument();
  bool untyped = !object.Has("type") && object.Has("coordinates");
  ASSIGN_OR_RETURN(auto parsed, Geometry::FromStored(untyped ? object["coordinates"] : geometry));
  if (!parsed->point() || !parsed->spherical()) {
    return Bad("$near requires geojson point, given " + bson::ToJson(geometry));
  }
  near->center = *parsed->point();
  near->geojson = true;
  near->sphere = true;
  return Status::Ok();
}

// {$geometry: <point>, $minDistance, $maxDistance}
Status ReadGeometry(bson::View operand, Near* near) {
  RETURN_IF_ERROR(ReadGeoJsonPoint(operand["$geometry"], near));
  for (const bson::Element& element : operand) {
    if (element.name() != "$geometry" && element.name() != "$minDistance" &&
        element.name() != "$maxDistance") {
      return Bad("invalid argument in geo near query: " + std::string(element.name()));
    }
  }
  return ReadDistances(operand, /*legacy=*/false, near);
}

// [x, y] or [x, y, maxDistance], or the same as a document; or a GeoJSON point.
Status ReadLegacy(std::string_view name, const bson::Value& operand, bson::View siblings,
                  Near* near) {
  std::optional<FlatPoint> point = LegacyPoint(operand);
  if (!point) {
    if (!operand.is_document() || !ReadGeoJsonPoint(operand, near).ok()) {
      return Bad("invalid point in geo near query $geometry argument: " + bson::ToJson(operand));
    }
    return ReadDistances(siblings, /*legacy=*/true, near);
  }
  near->center = *point;
  near->sphere = name == "$nearSphere";
  if (near->sphere && !IsOnSphere(*point)) {
    return Bad("longitude/latitude is out of bounds");
  }
  size_t index = 0;
  if (operand.AsDocument().Count() > 3) {
    return Bad("a point of a geo near query has two coordinates");
  }
  for (const bson::Element& element : operand.AsDocument()) {
    if (index++ == 2) {
      ASSIGN_OR_RETURN(near->max_distance, Distance(element, {16895, 16896, kBadValue}));
    }
  }
  return ReadDistances(siblings, /*legacy=*/true, near);
}

}  // namespace

Result<Near> ParseNear(std::string_view name, const bson::Value& operand, bson::View siblings) {
  Near near;
  near.max_distance = std::numeric_limits<double>::infinity();
  if (!operand.is_document() && !operand.is_array()) {
    return Bad("near must be first in: " + bson::ToJson(bson::Value(siblings)));
  }
  if (operand.AsDocument().Has("$geometry")) {
    RETURN_IF_ERROR(ReadGeometry(operand.AsDocument(), &near));
  } else {
    RETURN_IF_ERROR(ReadLegacy(name, operand, siblings, &near));
  }
  return near;
}

std::optional<double> Near::DistanceTo(const Geometry& stored) const {
  double distance = 0;
  if (sphere) {
    if (!stored.spherical()) {
      return std::nullopt;
    }
    distance = stored.RadiansTo(center) * kEarthRadiusMeters;
    if (!geojson) {
      distance /= kEarthRadiusMeters;  // the same last bit as MongoDB's, which measures in metres
    }
  } else {
    if (!stored.point()) {
      return std::nullopt;
    }
    distance = FlatDistance(center, *stored.point());
  }
  if (distance < min_distance || distance > max_distance) {
    return std::nullopt;
  }
  return distance;
}

}  // namespace quire::expr::geo
