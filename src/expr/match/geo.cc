// SPDX-License-Identifier: Apache-2.0
#include "expr/match/geo.h"

#include "base/error_codes.h"
#include "base/try.h"
#include "expr/match/parse_internal.h"

namespace quire::expr::match {
namespace {

std::shared_ptr<const geo::Geometry> Stored(const bson::Value& value) {
  if (!value.is_document() && !value.is_array()) {
    return nullptr;
  }
  auto geometry = geo::Geometry::FromStored(value);
  return geometry.ok() ? *std::move(geometry) : nullptr;
}

bool IsNear(std::string_view name) {
  return name == "$near" || name == "$nearSphere" || name == "$geoNear";
}

}  // namespace

bool GeoNode::MatchesValue(const bson::Value& value, MatchState&) const {
  std::shared_ptr<const geo::Geometry> stored = Stored(value);
  if (stored == nullptr) {
    return false;
  }
  return within_ ? area_->Contains(*stored) : area_->Intersects(*stored);
}

void GeoNode::SerializeOperator(bson::Builder* out) const {
  out->Append(within_ ? "$geoWithin" : "$geoIntersects", source_.value());
}

std::optional<double> GeoNearNode::Distance(bson::View document, const Path& path,
                                            bson::Value* location) const {
  std::optional<double> best;
  auto visit = [&](const bson::Value& value, std::string_view) {
    std::shared_ptr<const geo::Geometry> stored = Stored(value);
    std::optional<double> distance = stored == nullptr ? std::nullopt : near_.DistanceTo(*stored);
    if (distance && (!best || *distance < *best)) {
      best = distance;
      if (location != nullptr) {
        *location = value;
      }
    }
    return false;
  };
  WalkPath(path, 0, document, LeafArray::kElementsAndWhole, {}, visit);
  return best;
}

bool GeoNearNode::MatchesValue(const bson::Value& value, MatchState&) const {
  std::shared_ptr<const geo::Geometry> stored = Stored(value);
  return stored != nullptr && near_.DistanceTo(*stored).has_value();
}

void GeoNearNode::SerializeOperator(bson::Builder* out) const { out->AppendFields(source_); }

// ------------------------------------------------------------------ parsing
Result<NodePtr> ParseGeo(std::string_view path, const bson::Element& element, bson::View operators,
                         const ParseScope&) {
  bool within = element.name() != "$geoIntersects";
  if (!within && operators.Count() > 1) {
    return Status(kBadValue, "can't parse extra field beside " + std::string(element.name()));
  }
  if (element.type() != bson::Type::kDocument) {
    return Status(kBadValue, "geometry must be an object");
  }
  bson::View spec = element.value().AsDocument();
  ASSIGN_OR_RETURN(auto area, geo::Area::Parse(spec));
  if (within && spec.Has("$geometry") && !area->sphere()->only_polygons()) {
    return Status(kBadValue, "$geoWithin not supported with provided geometry: " +
                                 bson::ToJson(element.value()));
  }
  if (!within && !spec.Has("$geometry")) {
    return Status(kBadValue, "$geoIntersects not supported with provided geometry: " +
                                 bson::ToJson(element.value()));
  }
  return NodePtr(std::make_shared<GeoNode>(path, element, within, std::move(area)));
}

Result<NodePtr> ParseNear(std::string_view path, const bson::Element& element, bson::View operators,
                          const ParseScope& scope) {
  if (!scope.allowed.near) {
    return Status(5626500,
                  "$geoNear, $near, and $nearSphere are not allowed in this context, as these "
                  "operators require sorting geospatial data. If you do not need sort, consider "
                  "using $geoWithin instead.");
  }
  ASSIGN_OR_RETURN(geo::Near near, geo::ParseNear(element.name(), element.value(), operators));
  bool has_geometry = element.value().AsDocument().Has("$geometry");
  for (const bson::Element& sibling : operators) {
    bool distance = sibling.name() == "$minDistance" || sibling.name() == "$maxDistance";
    if (!distance && sibling.name() != element.name()) {
      return Status(IsNear(sibling.name()) ? kBadValue : 34413,
                    "invalid argument in geo near query: " + std::string(sibling.name()));
    }
    if (has_geometry && distance) {
      return Status(kBadValue,
                    "geo near accepts just one argument when querying for a GeoJSON point. Extra "
                    "field found: " +
                        std::string(sibling.name()));
    }
  }
  return NodePtr(std::make_shared<GeoNearNode>(path, operators, near));
}

// Read together with the $near beside them.
Result<NodePtr> ParseNearDistance(std::string_view, const bson::Element& element,
                                  bson::View operators, const ParseScope&) {
  for (const bson::Element& sibling : operators) {
    if (IsNear(sibling.name())) {
      return NodePtr();
    }
  }
  return Status(kBadValue, "unknown operator: " + std::string(element.name()));
}

}  // namespace quire::expr::match
