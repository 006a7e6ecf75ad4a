// SPDX-License-Identifier: Apache-2.0
//
// Geo predicates: $geoWithin, $geoIntersects, $near and $nearSphere.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "expr/geo/shape.h"
#include "expr/match/leaf.h"

namespace quire::expr::match {

// $geoWithin or $geoIntersects.
class GeoNode final : public PathNode {
 public:
  GeoNode(std::string_view path, const bson::Element& source, bool within,
          std::shared_ptr<const geo::Area> area)
      : PathNode(Kind::kGeo, path),
        source_(source.value()),
        within_(within),
        area_(std::move(area)) {}
  bool within() const { return within_; }
  const geo::Area& area() const { return *area_; }
  bool MatchesValue(const bson::Value& value, MatchState& state) const override;
  void SerializeOperator(bson::Builder* out) const override;

 private:
  bson::OwnedValue source_;
  bool within_;
  std::shared_ptr<const geo::Area> area_;
};

// $near or $nearSphere. As a predicate it holds for locations within the distance limits; the
// order by distance is the planner's work.
class GeoNearNode final : public PathNode {
 public:
  GeoNearNode(std::string_view path, bson::View source, const geo::Near& near)
      : PathNode(Kind::kGeoNear, path), source_(source), near_(near) {}
  const geo::Near& near() const { return near_; }
  // The distance to the nearest location the document has at `path`, in the query's unit;
  // `*location`, when not null, becomes that location. Nothing when there is none within the
  // limits.
  std::optional<double> Distance(bson::View document, const Path& path,
                                 bson::Value* location = nullptr) const;
  bool MatchesValue(const bson::Value& value, MatchState& state) const override;
  void SerializeOperator(bson::Builder* out) const override;

 private:
  bson::Document source_;  // the whole {$near: ..., $maxDistance: ...}
  geo::Near near_;
};

}  // namespace quire::expr::match
