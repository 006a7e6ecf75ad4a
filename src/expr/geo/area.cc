// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/number.h"
#include "expr/geo/shape.h"

namespace quire::expr::geo {
namespace {

Status Bad(std::string message) { return Status(kBadValue, std::move(message)); }

// Areas of the plane look at points only.
class FlatArea : public Area {
 public:
  bool Contains(const Geometry& stored) const final {
    return stored.point().has_value() && Holds(*stored.point());
  }
  bool Intersects(const Geometry& stored) const final { return Contains(stored); }

 private:
  virtual bool Holds(FlatPoint point) const = 0;
};

class Box final : public FlatArea {
 public:
  Box(FlatPoint a, FlatPoint b)
      : low_{std::min(a.x, b.x), std::min(a.y, b.y)},
        high_{std::max(a.x, b.x), std::max(a.y, b.y)} {}
  std::optional<FlatBox> Bounds() const override { return FlatBox{low_, high_}; }

 private:
  bool Holds(FlatPoint p) const override {
    return p.x >= low_.x && p.x <= high_.x && p.y >= low_.y && p.y <= high_.y;
  }
  FlatPoint low_;
  FlatPoint high_;
};

class Circle final : public FlatArea {
 public:
  Circle(FlatPoint center, double radius) : center_(center), radius_(radius) {}
  std::optional<FlatBox> Bounds() const override {
    return FlatBox{{center_.x - radius_, center_.y - radius_},
                   {center_.x + radius_, center_.y + radius_}};
  }

 private:
  bool Holds(FlatPoint p) const override { return FlatDistance(center_, p) <= radius_; }
  FlatPoint center_;
  double radius_;
};

class FlatPolygon final : public FlatArea {
 public:
  explicit FlatPolygon(std::vector<FlatPoint> corners) : corners_(std::move(corners)) {}
  std::optional<FlatBox> Bounds() const override {
    FlatBox box{corners_[0], corners_[0]};
    for (FlatPoint corner : corners_) {
      box.low = {std::min(box.low.x, corner.x), std::min(box.low.y, corner.y)};
      box.high = {std::max(box.high.x, corner.x), std::max(box.high.y, corner.y)};
    }
    return box;
  }

 private:
  // On a corner or on an upright or level edge.
  static bool OnStraightEdge(FlatPoint a, FlatPoint b, FlatPoint p) {
    bool corner = (p.x == a.x && p.y == a.y) || (p.x == b.x && p.y == b.y);
    bool level = a.y == b.y && p.y == a.y && p.x >= std::min(a.x, b.x) && p.x <= std::max(a.x, b.x);
    bool upright =
        a.x == b.x && p.x == a.x && p.y > std::min(a.y, b.y) && p.y <= std::max(a.y, b.y);
    return corner || level || upright;
  }
  // A ray to the right crosses the edge; points on slanted edges belong to the area on one side.
  static bool Crosses(FlatPoint a, FlatPoint b, FlatPoint p) {
    if (p.y <= std::min(a.y, b.y) || p.y > std::max(a.y, b.y) || p.x > std::max(a.x, b.x)) {
      return false;
    }
    return a.x == b.x || p.x <= (p.y - a.y) * (b.x - a.x) / (b.y - a.y) + a.x;
  }
  bool Holds(FlatPoint p) const override {
    bool inside = false;
    FlatPoint a = corners_[0];
    for (size_t i = 1; i <= corners_.size(); ++i) {
      FlatPoint b = corners_[i % corners_.size()];
      if (OnStraightEdge(a, b, p)) {
        return true;
      }
      inside = inside != Crosses(a, b, p);
      a = b;
    }
    return inside;
  }
  std::vector<FlatPoint> corners_;
};

class SphereArea final : public Area {
 public:
  explicit SphereArea(std::shared_ptr<const Geometry> geometry) : geometry_(std::move(geometry)) {}
  bool Contains(const Geometry& stored) const override {
    return stored.spherical() && geometry_->Contains(stored);
  }
  bool Intersects(const Geometry& stored) const override {
    return stored.spherical() && geometry_->Intersects(stored);
  }
  const Geometry* sphere() const override { return geometry_.get(); }
  std::optional<FlatBox> Bounds() const override { return geometry_->CapBox(); }

 private:
  std::shared_ptr<const Geometry> geometry_;
};

// ------------------------------------------------------------------ parsing
Result<std::vector<FlatPoint>> Points(const bson::Value& value, std::string_view name) {
  if (!value.is_array() && !value.is_document()) {
    return Bad("unknown geo specifier: " + std::string(name) + " needs an array");
  }
  std::vector<FlatPoint> points;
  for (const bson::Element& item : value.AsDocument()) {
    std::optional<FlatPoint> point = LegacyPoint(item.value(), /*exact=*/true);
    if (!point) {
      return Bad("Point must only contain numeric elements");
    }
    points.push_back(*point);
  }
  return points;
}

using AreaPtr = std::shared_ptr<const Area>;

Result<AreaPtr> ParseBox(const bson::Element& element) {
  ASSIGN_OR_RETURN(std::vector<FlatPoint> corners, Points(element.value(), "$box"));
  if (corners.size() < 2) {
    return Bad("Point coordinate specification must have 2 corners in $box");
  }
  return AreaPtr(std::make_shared<Box>(corners[0], corners[1]));
}

Result<AreaPtr> ParsePolygon(const bson::Element& element) {
  ASSIGN_OR_RETURN(std::vector<FlatPoint> corners, Points(element.value(), "$polygon"));
  if (corners.size() < 3) {
    return Bad("Polygon must have at least 3 points");
  }
  return AreaPtr(std::make_shared<FlatPolygon>(std::move(corners)));
}

// [center, radius]
Result<AreaPtr> ParseCircle(const bson::Element& element) {
  bson::Value value = element.value();
  if ((!value.is_array() && !value.is_document()) || value.AsDocument().Count() != 2) {
    return Bad("a circle needs a center and a radius");
  }
  std::optional<FlatPoint> center = LegacyPoint(value.AsDocument().front().value(), /*exact=*/true);
  bson::Value radius = (*++value.AsDocument().begin()).value();
  if (!center || !radius.is_number()) {
    return Bad("a circle needs a center and a radius");
  }
  double r = bson::ToDouble(radius);
  if (!(r >= 0)) {
    return Bad("radius must be a non-negative number");
  }
  if (element.name() == "$center") {
    return AreaPtr(std::make_shared<Circle>(*center, r));
  }
  if (!IsOnSphere(*center)) {
    return Bad("longitude/latitude is out of bounds");
  }
  return AreaPtr(std::make_shared<SphereArea>(Geometry::FromCap(*center, r)));
}

Result<AreaPtr> ParseGeometry(const bson::Element& element) {
  if (element.type() != bson::Type::kDocument && element.type() != bson::Type::kArray) {
    return Bad("$geometry must be an object");
  }
  bson::View object = element.value().AsDocument();
  bool legacy = !object.Has("type") && object.Count() == 2;
  auto geometry = legacy ? Geometry::FromStored(element.value()) : Geometry::FromGeoJson(object);
  if (!geometry.ok()) {
    return geometry.status();
  }
  if (!(*geometry)->spherical()) {
    return Bad("longitude/latitude is out of bounds");
  }
  return AreaPtr(std::make_shared<SphereArea>(*std::move(geometry)));
}

struct SpecifierRow {
  std::string_view name;
  Result<AreaPtr> (*parse)(const bson::Element& element);
};

constexpr SpecifierRow kSpecifiers[] = {
    {"$geometry", ParseGeometry},   {"$box", ParseBox},         {"$center", ParseCircle},
    {"$centerSphere", ParseCircle}, {"$polygon", ParsePolygon},
};

}  // namespace

Result<AreaPtr> Area::Parse(bson::View spec) {
  AreaPtr area;
  for (const bson::Element& element : spec) {
    if (element.name() == "$uniqueDocs") {
      continue;
    }
    auto row = std::find_if(std::begin(kSpecifiers), std::end(kSpecifiers),
                            [&](const SpecifierRow& r) { return r.name == element.name(); });
    if (row == std::end(kSpecifiers)) {
      return Bad("unknown geo specifier: " + std::string(element.name()));
    }
    if (area != nullptr) {
      return Bad("geo query takes only one specifier");
    }
    ASSIGN_OR_RETURN(area, row->parse(element));
  }
  if (area == nullptr) {
    return Bad("geo query doesn't have any geometry");
  }
  return area;
}

}  // namespace quire::expr::geo
