// SPDX-License-Identifier: Apache-2.0
//
// The option timeseries of $out.
#include "bson/decimal.h"
#include "bson/number.h"
#include "pipeline/stages/parsing.h"

namespace quire::pipeline {

namespace {

constexpr std::string_view kWhere = "$out.timeseries.";

// Seconds of a bucket, from 1 to a year: doubles cut off, decimals rounded.
Status CheckSeconds(const bson::Element& field) {
  constexpr double kMost = 31536000;
  bson::Value value = field.value();
  std::string where = std::string(kWhere) + std::string(field.name());
  if (!value.is_number()) {
    return WrongType(where, value, "[long, int, decimal, double]");
  }
  double seconds = bson::ToDouble(value);
  if (value.type() == bson::Type::kDecimal128) {
    seconds = bson::decimal::ToDouble(
        bson::decimal::RoundToIntegral(value.AsDecimal(), bson::decimal::Rounding::kNearestEven));
  }
  if (!(seconds >= 1 && seconds < kMost + 1)) {
    return Status(kBadValue, "BSON field '" + where +
                                 "' value must be between 1 and 31536000, "
                                 "actual value '" +
                                 bson::ToJson(value) + "'");
  }
  return Status::Ok();
}

Status CheckGranularity(const bson::Element& field) {
  std::string_view name = field.value().AsString();
  if (name != "seconds" && name != "minutes" && name != "hours") {
    return Status(kBadValue, "Enumeration value '" + std::string(name) +
                                 "' for field 'granularity' is not a valid value.");
  }
  return Status::Ok();
}

Status CheckField(const bson::Element& field) {
  std::string_view name = field.name();
  if (name == "bucketMaxSpanSeconds" || name == "bucketRoundingSeconds") {
    return field.value().nullish() ? Status::Ok() : CheckSeconds(field);
  }
  if (name != "timeField" && name != "metaField" && name != "granularity") {
    return Status(
        40415, "BSON field '" + std::string(kWhere) + std::string(name) + "' is an unknown field.");
  }
  if (field.value().nullish()) {
    return Status::Ok();
  }
  if (field.type() != bson::Type::kString) {
    return WrongType(std::string(kWhere) + std::string(name), field.value(), "string");
  }
  return name == "granularity" ? CheckGranularity(field) : Status::Ok();
}

}  // namespace

Status CheckTimeSeries(const bson::Value& options) {
  if (!options.is_document()) {
    return WrongType("$out.timeseries", options, "object");
  }
  bson::View fields = options.AsDocument();
  for (const bson::Element& field : fields) {
    RETURN_IF_ERROR(CheckField(field));
  }
  if (fields["timeField"].nullish()) {
    return Status(40414, "BSON field '$out.timeseries.timeField' is missing but a required field");
  }
  bson::Value span = fields["bucketMaxSpanSeconds"];
  bson::Value rounding = fields["bucketRoundingSeconds"];
  if (span.nullish() != rounding.nullish() ||
      (!span.nullish() && bson::ToDouble(span) != bson::ToDouble(rounding))) {
    return Status(kInvalidOptions,
                  "bucketRoundingSeconds and bucketMaxSpanSeconds must be set together and equal");
  }
  if (!span.nullish() && !fields["granularity"].nullish()) {
    return Status(kInvalidOptions,
                  "granularity cannot be set beside bucketMaxSpanSeconds and "
                  "bucketRoundingSeconds");
  }
  return Status::Ok();
}

}  // namespace quire::pipeline
