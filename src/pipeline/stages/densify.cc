// SPDX-License-Identifier: Apache-2.0
#include "exec/densify.h"

#include "bson/compare.h"
#include "bson/number.h"
#include "expr/projection/add_fields.h"
#include "pipeline/stages/parsing.h"

namespace quire::pipeline {

namespace {

class DensifyStage : public StageOf<StageKind::kDensify> {
 public:
  using StageOf::StageOf;
  Status Parse(const StageContext& context);
  Result<OperatorPtr> Build(OpContext&, OperatorPtr input,
                            const BuildOptions& build) const override {
    exec::DensifyOptions options = options_;
    options.allow_disk = build.allow_disk_use;
    return OperatorPtr(std::make_unique<exec::Densify>(std::move(input), std::move(options)));
  }
  Spread spread() const override { return Spread::kOnce; }

 private:
  Status ParsePartition(const bson::Value& fields);
  Status ParseRange(const bson::Value& range);
  Status ParseBounds(const bson::Value& bounds);

  exec::DensifyOptions options_;
};

Status DensifyStage::ParsePartition(const bson::Value& fields) {
  if (!fields.is_array()) {
    return WrongType("$densify.partitionByFields", fields, "array");
  }
  for (const bson::Element& field : fields.AsArray()) {
    if (field.type() != bson::Type::kString) {
      return WrongType("$densify.partitionByFields", field.value(), "string");
    }
    RETURN_IF_ERROR(expr::CheckFieldPath(field.value().AsString()));
    options_.partition_fields.push_back(exec::SplitFieldPath(field.value().AsString()));
  }
  return Status::Ok();
}

Status DensifyStage::ParseBounds(const bson::Value& bounds) {
  using Bounds = exec::DensifyOptions::Bounds;
  if (bounds.is_string()) {
    if (bounds.AsString() == "full") {
      options_.bounds = Bounds::kFull;
      return Status::Ok();
    }
    if (bounds.AsString() == "partition") {
      if (options_.partition_fields.empty()) {
        return Status(5733408,
                      "one may not specify the bounds as 'partition' without specifying a "
                      "non-empty array of partitionByFields. You may have meant to specify "
                      "'full' bounds.");
      }
      options_.bounds = Bounds::kPartition;
      return Status::Ok();
    }
    return Status(5946802, "Bounds string must either be 'full' or 'partition'");
  }
  if (!bounds.is_array()) {
    return WrongType("$densify.range.bounds", bounds, "array");
  }
  if (bounds.AsArray().Count() != 2) {
    return Status(5733403, "a bounding array in a range statement must have exactly two elements");
  }
  bson::Value lower = bounds.AsArray()["0"];
  bson::Value upper = bounds.AsArray()["1"];
  bool numbers = lower.is_number() && upper.is_number();
  bool dates = lower.type() == bson::Type::kDate && upper.type() == bson::Type::kDate;
  if (!numbers && !dates) {
    return Status(5733402, "a bounding array must contain either both dates or both numeric types");
  }
  if (dates != options_.unit.has_value()) {
    return Status(dates ? 5733501 : 5733405,
                  dates ? "a bounding array of dates needs a unit"
                        : "unit may only be specified alongside date bounds");
  }
  if (bson::Compare(lower, upper) > 0) {
    return Status(5733402, "the bounds in a range statement must be in ascending order");
  }
  options_.bounds = Bounds::kExplicit;
  options_.lower = bson::OwnedValue(lower);
  options_.upper = bson::OwnedValue(upper);
  return Status::Ok();
}

Status DensifyStage::ParseRange(const bson::Value& range) {
  if (!range.is_document()) {
    return WrongType("$densify.range", range, "object");
  }
  bson::Value bounds;
  bson::Value step;
  for (const bson::Element& field : range.AsDocument()) {
    bson::Value value = field.value();
    if (field.name() == "step") {
      step = value;
    } else if (field.name() == "bounds") {
      bounds = value;
    } else if (field.name() == "unit") {
      if (!value.is_string()) {
        return WrongType("$densify.range.unit", value, "string");
      }
      options_.unit = expr::date::ParseUnit(value.AsString());
      if (!options_.unit) {
        return Status(kFailedToParse, "unknown time unit value: " + std::string(value.AsString()));
      }
    } else {
      return Status(40415, "BSON field '$densify.range." + std::string(field.name()) +
                               "' is an unknown field.");
    }
  }
  if (step.missing() || bounds.missing()) {
    return Status(40414, std::string("BSON field '$densify.range.") +
                             (step.missing() ? "step" : "bounds") +
                             "' is missing but a required field");
  }
  if (!step.is_number()) {
    return WrongType("$densify.range.step", step, "number");
  }
  if (bson::ToDouble(step) <= 0) {
    return Status(5733401,
                  "the step parameter in a range statement must be a strictly positive "
                  "numeric value");
  }
  if (options_.unit && !bson::ExactInt64(step)) {
    return Status(6586400,
                  "The step parameter in a range statement must be a whole number when "
                  "densifying a date range");
  }
  options_.step = bson::OwnedValue(step);
  return ParseBounds(bounds);
}

Status DensifyStage::Parse(const StageContext&) {
  if (!spec().is_document()) {
    return Status(5733200, "The $densify stage specification must be an object, found " +
                               std::string(bson::TypeName(spec().type())));
  }
  options_.context = context();
  bson::Value range;
  for (const bson::Element& field : spec().AsDocument()) {
    bson::Value value = field.value();
    if (field.name() == "field") {
      if (!value.is_string()) {
        return WrongType("$densify.field", value, "string");
      }
      RETURN_IF_ERROR(expr::CheckFieldPath(value.AsString()));
      options_.field = exec::SplitFieldPath(value.AsString());
    } else if (field.name() == "partitionByFields") {
      RETURN_IF_ERROR(ParsePartition(value));
    } else if (field.name() == "range") {
      range = value;
    } else {
      return Status(40415,
                    "BSON field '$densify." + std::string(field.name()) + "' is an unknown field.");
    }
  }
  if (options_.field.empty() || range.missing()) {
    return Status(40414, std::string("BSON field '$densify.") +
                             (range.missing() ? "range" : "field") +
                             "' is missing but a required field");
  }
  return ParseRange(range);
}

}  // namespace

Result<Stages> ParseDensify(const bson::Element& spec, const StageContext& context) {
  return MakeStage<DensifyStage>(spec, context);
}

}  // namespace quire::pipeline
