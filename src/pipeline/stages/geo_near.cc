// SPDX-License-Identifier: Apache-2.0
//
// $geoNear: a $match by $near, which the planner answers in the order of distance, and a stage that
// writes distance and location.
#include <algorithm>
#include <cmath>
#include <limits>

#include "bson/number.h"
#include "exec/near_fields.h"
#include "expr/projection/add_fields.h"
#include "pipeline/stages/match.h"
#include "pipeline/stages/parsing.h"

namespace quire::pipeline {

namespace {

struct GeoNearSpec {
  bson::OwnedValue near;
  std::string distance_field;
  std::string include_locs;
  std::string key;
  bson::Document query;
  std::optional<double> min_distance;
  std::optional<double> max_distance;
  std::optional<double> multiplier;
  bool spherical = false;
};

// The value of an option that is a constant expression. Error `not_constant` otherwise.
Result<bson::OwnedValue> Constant(const bson::Value& spec, const StageContext& context,
                                  int not_constant) {
  ASSIGN_OR_RETURN(auto expression, ParseExpression(spec, context.context));
  ASSIGN_OR_RETURN(const bson::Value* constant, expr::agg::ConstantValue(*expression));
  if (constant == nullptr) {
    return Status(not_constant, "$geoNear requires constant options");
  }
  return bson::OwnedValue(*constant);
}

Result<double> Number(std::string_view name, const bson::Value& value) {
  if (!value.is_number()) {
    return Status(kTypeMismatch, std::string(name) + " must be a number");
  }
  double number = bson::ToDouble(value);
  if (!(number >= 0)) {
    return Status(kBadValue, std::string(name) + " must be nonnegative");
  }
  return number;
}

// Fewer steps than fields may nest.
constexpr std::ptrdiff_t kMostSteps = 199;
constexpr std::ptrdiff_t kMostKeySteps = 180;

Status CheckDepth(const bson::Element& option, std::ptrdiff_t most, int code) {
  std::string_view path = option.value().AsString();
  if (std::count(path.begin(), path.end(), '.') >= most) {
    return Status(code, "$geoNear option '" + std::string(option.name()) + "' nests too deep");
  }
  return Status::Ok();
}

Result<std::string> FieldName(const bson::Element& option, int wrong_type) {
  if (option.type() != bson::Type::kString) {
    return Status(wrong_type, "$geoNear requires that the '" + std::string(option.name()) +
                                  "' option is a String");
  }
  RETURN_IF_ERROR(expr::CheckFieldPath(option.value().AsString()));
  RETURN_IF_ERROR(CheckDepth(option, kMostSteps, 5984700));
  return std::string(option.value().AsString());
}

Status ReadKey(const bson::Element& option, GeoNearSpec* spec) {
  if (option.type() != bson::Type::kString) {
    return Status(kTypeMismatch,
                  "$geoNear parameter 'key' must be of type string but found type: " +
                      std::string(bson::TypeName(option.type())));
  }
  if (option.value().AsString().empty()) {
    return Status(kBadValue, "$geoNear parameter 'key' cannot be the empty string");
  }
  ASSIGN_OR_RETURN(spec->key, FieldName(option, kTypeMismatch));
  return CheckDepth(option, kMostKeySteps, 5729100);
}

Status ReadNear(const bson::Element& option, const StageContext& context, GeoNearSpec* spec) {
  ASSIGN_OR_RETURN(spec->near, Constant(option.value(), context, 5860402));
  if (spec->near.type() != bson::Type::kDocument && spec->near.type() != bson::Type::kArray) {
    return Status(5860401, "$geoNear requires near argument to be an object or array");
  }
  return Status::Ok();
}

Status ReadDistance(const bson::Element& option, const StageContext& context, int not_constant,
                    std::optional<double>* out) {
  ASSIGN_OR_RETURN(bson::OwnedValue value, Constant(option.value(), context, not_constant));
  ASSIGN_OR_RETURN(*out, Number(option.name(), value.value()));
  return Status::Ok();
}

Status ReadOption(const bson::Element& option, const StageContext& context, GeoNearSpec* spec) {
  std::string_view name = option.name();
  if (name == "near") {
    return ReadNear(option, context, spec);
  }
  if (name == "distanceField") {
    ASSIGN_OR_RETURN(spec->distance_field, FieldName(option, 16606));
  } else if (name == "includeLocs") {
    ASSIGN_OR_RETURN(spec->include_locs, FieldName(option, 16607));
  } else if (name == "key") {
    return ReadKey(option, spec);
  } else if (name == "minDistance") {
    return ReadDistance(option, context, 7555701, &spec->min_distance);
  } else if (name == "maxDistance") {
    return ReadDistance(option, context, 7555702, &spec->max_distance);
  } else if (name == "distanceMultiplier") {
    ASSIGN_OR_RETURN(spec->multiplier, Number(name, option.value()));
  } else if (name == "spherical") {
    spec->spherical = expr::agg::IsTrue(option.value());
  } else if (name == "query") {
    if (option.type() != bson::Type::kDocument) {
      return Status(kTypeMismatch, "query must be an object");
    }
    spec->query = bson::Document(option.value().AsDocument());
  } else if (name == "limit" || name == "num") {
    return Status(50858, "$geoNear no longer supports the '" + std::string(name) +
                             "' parameter. Use a $limit stage instead.");
  } else if (name != "uniqueDocs") {
    return Status(kBadValue, "Unknown argument to $geoNear: " + std::string(name));
  }
  return Status::Ok();
}

// {key: {$near: ...}} in the form that says the same.
bson::Document NearFilter(const GeoNearSpec& spec) {
  bson::Value near = spec.near.value();
  bool geojson =
      near.is_document() && (near.AsDocument().Has("type") || near.AsDocument().Has("coordinates"));
  bson::Builder filter;
  filter.BeginDocument(spec.key);
  auto distances = [&] {
    if (spec.min_distance) {
      filter.Append("$minDistance",
                    std::min(*spec.min_distance, std::numeric_limits<double>::max()));
    }
    if (spec.max_distance && !std::isinf(*spec.max_distance)) {
      filter.Append("$maxDistance", *spec.max_distance);
    }
  };
  if (geojson) {
    filter.BeginDocument("$nearSphere").Append("$geometry", near);
    distances();
    filter.End();
  } else {
    filter.Append(spec.spherical ? "$nearSphere" : "$near", near);
    distances();
  }
  filter.End();
  return filter.Finish();
}

// Adds what is told about each document; the $match before it has measured.
class NearFieldsStage final : public StageOf<StageKind::kNearFields> {
 public:
  using StageOf::StageOf;
  void Take(const GeoNearSpec& spec) {
    if (!spec.distance_field.empty()) {
      fields_.distance = exec::SplitFieldPath(spec.distance_field);
    }
    if (!spec.include_locs.empty()) {
      fields_.location = exec::SplitFieldPath(spec.include_locs);
    }
    fields_.multiplier = spec.multiplier.value_or(1);
  }
  Result<OperatorPtr> Build(OpContext&, OperatorPtr input, const BuildOptions&) const override {
    return OperatorPtr(std::make_unique<exec::SetNearFields>(std::move(input), &fields_));
  }
  bool AddDependencies(std::set<std::string>* fields) const override {
    for (const exec::FieldPath* path : {&fields_.distance, &fields_.location}) {
      if (!path->empty()) {
        fields->insert(path->front());
      }
    }
    return true;
  }
  Spread spread() const override { return Spread::kMerged; }

 private:
  exec::NearFields fields_;
};

// The $match and what adds the fields, as a pipeline of two.
Result<Stages> Desugar(const bson::Element& source, const GeoNearSpec& spec,
                       const StageContext& context) {
  bson::Builder filter;
  filter.BeginArray("$and").Push(spec.query).Push(NearFilter(spec)).End();
  const bson::Document chosen = filter.Finish();
  Stages stages;
  ASSIGN_OR_RETURN(stages.emplace_back(), MakeMatch(chosen, context));
  auto fields = std::make_unique<NearFieldsStage>(source, context);
  fields->Take(spec);
  stages.push_back(std::move(fields));
  return stages;
}

}  // namespace

Result<Stages> ParseGeoNear(const bson::Element& spec, const StageContext& context) {
  if (spec.type() != bson::Type::kDocument && spec.type() != bson::Type::kArray) {
    return Status(10065, "invalid parameter: expected an object ($geoNear)");
  }
  GeoNearSpec options;
  if (spec.type() == bson::Type::kArray) {
    return Status(5860400, "$geoNear requires a 'near' argument");
  }
  for (const bson::Element& option : spec.value().AsDocument()) {
    RETURN_IF_ERROR(ReadOption(option, context, &options));
  }
  if (options.near.missing()) {
    return Status(5860400, "$geoNear requires a 'near' argument");
  }
  // $near of the query itself is refused as in any $match.
  RETURN_IF_ERROR(expr::match::Filter::Parse(options.query, context.context,
                                             expr::match::Allowed::InMatchStage())
                      .status());
  return Desugar(spec, options, context);
}

}  // namespace quire::pipeline
