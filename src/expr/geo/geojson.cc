// SPDX-License-Identifier: Apache-2.0
#include <s2/s2latlng.h>
#include <s2/s2loop.h>

#include <algorithm>
#include <cmath>

#include "base/current_op.h"
#include "base/error_codes.h"
#include "base/interruptible_sort.h"
#include "base/try.h"
#include "bson/number.h"
#include "expr/geo/crossings.h"
#include "expr/geo/edge_index_internal.h"
#include "expr/geo/index_build.h"
#include "expr/geo/shapes_internal.h"

namespace quire::expr::geo {
namespace {

using Shapes = Geometry::Shapes;

Status Bad(std::string message) { return Status(kBadValue, std::move(message)); }

Result<bson::View> Coordinates(const bson::Value& value, std::string_view what) {
  if (!value.is_array()) {
    return Bad(std::string(what) + " coordinates must be an array");
  }
  return value.AsArray();
}

// [longitude, latitude, ...]
Result<FlatPoint> Position(const bson::Value& value) {
  if (!value.is_array() && !value.is_document()) {
    return Bad("Point must be an array or object");
  }
  std::optional<FlatPoint> point = LegacyPoint(value);
  if (!point) {
    return Bad("Point must only contain numeric elements");
  }
  if (!IsOnSphere(*point)) {
    return Bad("longitude/latitude is out of bounds, lng: " + std::to_string(point->x) +
               " lat: " + std::to_string(point->y));
  }
  return *point;
}

Result<std::vector<S2Point>> Positions(const bson::Value& value, std::string_view what) {
  ASSIGN_OR_RETURN(bson::View items, Coordinates(value, what));
  std::vector<S2Point> points;
  for (const bson::Element& item : items) {
    RETURN_IF_ERROR(CheckCurrentOp());
    ASSIGN_OR_RETURN(FlatPoint position, Position(item.value()));
    points.push_back(ToS2(position));
  }
  return points;
}

void DropRepeated(std::vector<S2Point>* points) {
  points->erase(std::unique(points->begin(), points->end()), points->end());
}

// ------------------------------------------------------------------ lines
Status AddLine(const bson::Value& coordinates, Shapes* shapes) {
  ASSIGN_OR_RETURN(std::vector<S2Point> points, Positions(coordinates, "LineString"));
  DropRepeated(&points);
  if (points.size() < 2) {
    return Bad("GeoJSON LineString must have at least 2 vertices");
  }
  auto line = std::make_unique<S2Polyline>(points, S2Debug::DISABLE);
  S2Error error;
  if (line->FindValidationError(&error)) {
    return Bad("GeoJSON LineString is not valid: " + error.text());
  }
  shapes->lines.push_back(std::move(line));
  return Status::Ok();
}

// ------------------------------------------------------------------ polygons
Result<std::unique_ptr<S2Loop>> Ring(const bson::Value& coordinates, bool strict_winding) {
  ASSIGN_OR_RETURN(std::vector<S2Point> points, Positions(coordinates, "Polygon loop"));
  if (points.size() < 4) {
    return Bad("Loop must have at least 3 different vertices");
  }
  if (!SamePoint(points.front(), points.back())) {
    return Bad("Loop is not closed");
  }
  DropRepeated(&points);
  points.pop_back();
  if (points.size() < 3) {
    return Bad("Loop must have at least 3 different vertices");
  }
  auto loop = std::make_unique<S2Loop>();
  loop->set_s2debug_override(S2Debug::DISABLE);
  loop->Init(points);
  RETURN_IF_ERROR(CheckRing(*loop));
  if (!strict_winding) {
    loop->Normalize();
  }
  return loop;
}

Status AddPolygon(const bson::Value& coordinates, bool strict_winding, Shapes* shapes) {
  ASSIGN_OR_RETURN(bson::View rings, Coordinates(coordinates, "Polygon"));
  Loops loops;
  for (const bson::Element& ring : rings) {
    RETURN_IF_ERROR(CheckCurrentOp());
    ASSIGN_OR_RETURN(std::unique_ptr<S2Loop> loop, Ring(ring.value(), strict_winding));
    loops.push_back(std::move(loop));
  }
  if (loops.empty()) {
    return Bad("Polygon has no loops.");
  }
  if (strict_winding && loops.size() > 1) {
    return Bad("Only one simple loop is allowed in a big polygon");
  }
  RETURN_IF_ERROR(CheckHoles(loops));
  std::unique_ptr<S2Polygon> polygon = PolygonOf(std::move(loops));
  if (polygon == nullptr) {
    return Bad("Polygon isn't valid");
  }
  RETURN_IF_ERROR(BuildLargeIndex(polygon.get()));
  shapes->polygons.push_back(std::move(polygon));
  shapes->strict_winding = strict_winding;
  return Status::Ok();
}

// ------------------------------------------------------------------ coordinate reference systems
// True for the one that reads polygons as wound.
Result<bool> StrictWinding(bson::View object) {
  bson::Element crs = object.Find("crs");
  if (!crs.present()) {
    return false;
  }
  bson::Value name;
  if (crs.type() == bson::Type::kDocument) {
    bson::Value kind = crs.value().AsDocument()["type"];
    if (!kind.is_string() || kind.AsString() != "name") {
      return Bad("GeoJSON CRS must have field \"type\" = \"name\"");
    }
    bson::Value properties = crs.value().AsDocument()["properties"];
    if (properties.is_document()) {
      name = properties.AsDocument()["name"];
    }
  }
  if (!name.is_string()) {
    return Bad("GeoJSON CRS must have field \"properties\" which is an object with a string name");
  }
  if (name.AsString() == "urn:x-mongodb:crs:strictwinding:EPSG:4326") {
    return true;
  }
  if (name.AsString() == "urn:ogc:def:crs:OGC:1.3:CRS84" || name.AsString() == "EPSG:4326") {
    return false;
  }
  return Bad("Unknown CRS name: " + std::string(name.AsString()));
}

template <typename Add>
Status AddEach(const bson::Value& coordinates, std::string_view what, const Add& add) {
  ASSIGN_OR_RETURN(bson::View items, Coordinates(coordinates, what));
  if (items.empty()) {
    return Bad(std::string(what) + " coordinates must have at least 1 element");
  }
  for (const bson::Element& item : items) {
    RETURN_IF_ERROR(CheckCurrentOp());
    RETURN_IF_ERROR(add(item.value()));
  }
  return Status::Ok();
}

Status AddObject(bson::View object, bool nested, Shapes* shapes, std::optional<FlatPoint>* point) {
  bson::Value type = object["type"];
  if (!type.is_string()) {
    return Bad("GeoJSON type must be a string");
  }
  ASSIGN_OR_RETURN(bool strict, StrictWinding(object));
  std::string_view name = type.AsString();
  if (strict && name != "Polygon") {
    return Bad("Strict winding order is only supported by Polygon");
  }
  bson::Value coordinates = object["coordinates"];
  if (name == "Point") {
    ASSIGN_OR_RETURN(FlatPoint position, Position(coordinates));
    *point = position;
    shapes->points.push_back(ToS2(position));
    return Status::Ok();
  }
  if (name == "LineString") {
    return AddLine(coordinates, shapes);
  }
  if (name == "Polygon") {
    return AddPolygon(coordinates, strict, shapes);
  }
  if (name == "MultiPoint") {
    return AddEach(coordinates, name, [&](const bson::Value& item) -> Status {
      ASSIGN_OR_RETURN(FlatPoint position, Position(item));
      shapes->points.push_back(ToS2(position));
      return Status::Ok();
    });
  }
  if (name == "MultiLineString") {
    return AddEach(coordinates, name,
                   [&](const bson::Value& item) { return AddLine(item, shapes); });
  }
  if (name == "MultiPolygon") {
    return AddEach(coordinates, name,
                   [&](const bson::Value& item) { return AddPolygon(item, false, shapes); });
  }
  if (name == "GeometryCollection" && !nested) {
    return AddEach(object["geometries"], name, [&](const bson::Value& item) -> Status {
      if (!item.is_document()) {
        return Bad("GeometryCollection geometries must be objects");
      }
      std::optional<FlatPoint> ignored;
      return AddObject(item.AsDocument(), /*nested=*/true, shapes, &ignored);
    });
  }
  return Bad("unknown GeoJSON type: " + bson::ToJson(bson::Value(object)));
}

}  // namespace

S2Point ToS2(FlatPoint degrees) {
  return S2LatLng::FromDegrees(degrees.y, degrees.x).Normalized().ToPoint();
}

bool IsOnSphere(FlatPoint point) {
  return point.x >= -180 && point.x <= 180 && point.y >= -90 && point.y <= 90;
}

std::optional<FlatPoint> LegacyPoint(const bson::Value& value, bool exact) {
  if (!value.is_array() && !value.is_document()) {
    return std::nullopt;
  }
  double numbers[2];
  int count = 0;
  for (const bson::Element& element : value.AsDocument()) {
    if (count == 2) {
      return exact ? std::nullopt : std::optional(FlatPoint{numbers[0], numbers[1]});
    }
    bson::Value number = element.value();
    if (!number.is_number() || !std::isfinite(bson::ToDouble(number))) {
      return std::nullopt;
    }
    numbers[count++] = bson::ToDouble(number);
  }
  return count < 2 ? std::nullopt : std::optional(FlatPoint{numbers[0], numbers[1]});
}

Result<std::shared_ptr<const Geometry>> Geometry::FromGeoJson(bson::View object) {
  auto shapes = std::make_unique<Shapes>();
  std::optional<FlatPoint> point;
  RETURN_IF_ERROR(AddObject(object, /*nested=*/false, shapes.get(), &point));
  RETURN_IF_ERROR(InterruptibleSort(shapes->points.begin(), shapes->points.end(), PointLess));
  return std::shared_ptr<const Geometry>(std::make_shared<Geometry>(
      std::move(shapes), point, /*spherical=*/true, /*is_geojson=*/true));
}

Result<std::shared_ptr<const Geometry>> Geometry::FromStored(const bson::Value& value) {
  if (value.is_document() && value.AsDocument()["type"].is_string()) {
    return FromGeoJson(value.AsDocument());
  }
  std::optional<FlatPoint> point = LegacyPoint(value);
  if (!point) {
    return Bad("unknown geometry: " + bson::ToJson(value));
  }
  auto shapes = std::make_unique<Shapes>();
  bool spherical = IsOnSphere(*point);
  if (spherical) {
    shapes->points.push_back(ToS2(*point));
  }
  return std::shared_ptr<const Geometry>(
      std::make_shared<Geometry>(std::move(shapes), point, spherical, /*is_geojson=*/false));
}

}  // namespace quire::expr::geo
