// SPDX-License-Identifier: Apache-2.0
//
// $bucket, which becomes a $group by $switch, and $bucketAuto.
#include "bson/compare.h"
#include "bson/number.h"
#include "exec/group/bucket_auto.h"
#include "exec/group/preferred_numbers.h"
#include "expr/agg/variable_name.h"
#include "expr/collation/collator.h"
#include "pipeline/desugar.h"
#include "pipeline/stages/group.h"
#include "pipeline/stages/parsing.h"

namespace quire::pipeline {

namespace {

bool IsPathOrExpression(const bson::Value& value) {
  if (value.is_string()) {
    return !value.AsString().empty() && value.AsString()[0] == '$';
  }
  return value.is_document();
}

struct BucketSpec {
  bson::Value group_by;
  bson::Value boundaries;
  bson::Value fallback;
  bson::Value output;
};

Result<BucketSpec> ReadBucketSpec(const bson::Value& spec) {
  if (!spec.is_document()) {
    return Status(40201, "Argument to $bucket stage must be an object, but found type: " +
                             std::string(bson::TypeName(spec.type())));
  }
  BucketSpec read;
  for (const bson::Element& field : spec.AsDocument()) {
    bson::Value value = field.value();
    if (field.name() == "groupBy") {
      if (!IsPathOrExpression(value)) {
        return Status(40202,
                      "The $bucket 'groupBy' field must be defined as a $-prefixed path or "
                      "an expression, but found: " +
                          bson::ToJson(value));
      }
      read.group_by = value;
    } else if (field.name() == "boundaries") {
      if (!value.is_array()) {
        return Status(40200, "The $bucket 'boundaries' field must be an array, but found type: " +
                                 std::string(bson::TypeName(value.type())));
      }
      read.boundaries = value;
    } else if (field.name() == "default") {
      read.fallback = value;
    } else if (field.name() == "output") {
      if (!value.is_document()) {
        return Status(40196, "The $bucket 'output' field must be an object, but found type: " +
                                 std::string(bson::TypeName(value.type())));
      }
      read.output = value;
    } else {
      return Status(40197, "Unrecognized option to $bucket: " + std::string(field.name()));
    }
  }
  if (read.group_by.missing() || read.boundaries.missing()) {
    return Status(40198, "$bucket requires 'groupBy' and 'boundaries' to be specified.");
  }
  return read;
}

// The value of an expression that must be constant; what the clock says is not.
Result<bson::OwnedValue> ConstantOf(const bson::Value& spec, int code, std::string_view what,
                                    const expr::Context* context) {
  ASSIGN_OR_RETURN(auto expression, ParseExpression(spec, context));
  ASSIGN_OR_RETURN(const bson::Value* constant, expr::agg::ConstantValue(*expression));
  if (!constant || expr::agg::NamesClock(spec)) {
    return Status(code, "The $bucket '" + std::string(what) +
                            "' must be constant values, but found: " + bson::ToJson(spec));
  }
  return bson::OwnedValue(*constant);
}

Result<std::vector<bson::OwnedValue>> ReadBoundaries(const bson::Value& array,
                                                     const expr::Context* context) {
  std::vector<bson::OwnedValue> boundaries;
  for (const bson::Element& element : array.AsArray()) {
    ASSIGN_OR_RETURN(auto value, ConstantOf(element.value(), 40191, "boundaries", context));
    boundaries.push_back(std::move(value));
  }
  if (boundaries.size() < 2) {
    return Status(40192, "The $bucket 'boundaries' field must have at least 2 values, but found " +
                             std::to_string(boundaries.size()) + " value(s).");
  }
  for (size_t i = 1; i < boundaries.size(); ++i) {
    bson::Value low = boundaries[i - 1].value();
    bson::Value high = boundaries[i].value();
    if (bson::CanonicalType(low.type()) != bson::CanonicalType(high.type())) {
      return Status(40193,
                    "All values in the 'boundaries' option to $bucket must have the same "
                    "type. Found conflicting types " +
                        std::string(bson::TypeName(low.type())) + " and " +
                        std::string(bson::TypeName(high.type())) + ".");
    }
    if (bson::Compare(low, high, context->collator) >= 0) {
      return Status(40194, "The 'boundaries' option to $bucket must be sorted, but elements " +
                               std::to_string(i - 1) + " and " + std::to_string(i) +
                               " are not in ascending order (" + bson::ToJson(low) +
                               " is not less than " + bson::ToJson(high) + ").");
    }
  }
  return boundaries;
}

Status CheckDefault(const bson::Value& fallback, const std::vector<bson::OwnedValue>& boundaries,
                    const expr::Context* context) {
  const bson::StringCompare* strings = context->collator;
  if (bson::Compare(fallback, boundaries.front().value(), strings) >= 0 &&
      bson::Compare(fallback, boundaries.back().value(), strings) < 0) {
    return Status(40199,
                  "The $bucket 'default' field must be less than the lowest boundary or "
                  "greater than or equal to the highest boundary.");
  }
  return Status::Ok();
}

void AppendLiteral(std::string_view name, const bson::Value& value, bson::Builder* out) {
  out->BeginDocument(name).Append("$literal", value).End();
}

void AppendComparison(const char* op, const bson::Value& by, const bson::Value& bound,
                      bson::Builder* out) {
  out->PushDocument().BeginArray(op).Push(by);
  out->PushDocument().Append("$literal", bound).End();
  out->End().End();
}

void AppendSwitch(const BucketSpec& spec, const std::vector<bson::OwnedValue>& boundaries,
                  const bson::OwnedValue& fallback, bson::Builder* out) {
  out->BeginDocument("_id").BeginDocument("$switch").BeginArray("branches");
  for (size_t i = 0; i + 1 < boundaries.size(); ++i) {
    out->PushDocument().BeginDocument("case").BeginArray("$and");
    AppendComparison("$gte", spec.group_by, boundaries[i].value(), out);
    AppendComparison("$lt", spec.group_by, boundaries[i + 1].value(), out);
    out->End().End();
    AppendLiteral("then", boundaries[i].value(), out);
    out->End();
  }
  out->End();
  if (!fallback.missing()) {
    AppendLiteral("default", fallback.value(), out);
  }
  out->End().End();
}

class BucketAutoStage : public StageOf<StageKind::kBucketAuto> {
 public:
  using StageOf::StageOf;
  Status Parse(const StageContext&);
  Result<OperatorPtr> Build(OpContext&, OperatorPtr input,
                            const BuildOptions& build) const override;
  bool AddDependencies(std::set<std::string>* fields) const override {
    return group_by_->AddDependencies(fields) && fields_.AddDependencies(fields);
  }
  bool Narrows() const override { return true; }
  Spread spread() const override { return Spread::kOnce; }

 private:
  Status ParseField(const bson::Element& field, expr::agg::ParseScope& scope);
  Status ParseBuckets(const bson::Value& value);
  Status ParseGranularity(const bson::Value& value);

  std::unique_ptr<expr::agg::Expression> group_by_;
  int32_t buckets_ = 0;
  const exec::NumberSeries* series_ = nullptr;
  bool has_output_ = false;
  AccumulatedFields fields_;
  bson::Document count_;
};

Status BucketAutoStage::ParseBuckets(const bson::Value& value) {
  if (!value.is_number()) {
    return Status(40241,
                  "The $bucketAuto 'buckets' field must be a numeric value, but found type: " +
                      std::string(bson::TypeName(value.type())));
  }
  auto n = bson::ExactInt32(value);
  if (!n) {
    return Status(40242,
                  "The $bucketAuto 'buckets' field must be representable as a 32-bit "
                  "integer, but found " +
                      bson::ToJson(value));
  }
  if (*n <= 0) {
    return Status(40243, "The $bucketAuto 'buckets' field must be greater than 0, but found: " +
                             std::to_string(*n));
  }
  buckets_ = *n;
  return Status::Ok();
}

Status BucketAutoStage::ParseGranularity(const bson::Value& value) {
  if (!value.is_string()) {
    return Status(40261, "The $bucketAuto 'granularity' field must be a string, but found type: " +
                             std::string(bson::TypeName(value.type())));
  }
  series_ = exec::FindNumberSeries(value.AsString());
  if (!series_) {
    return Status(40257, "Unknown rounding granularity '" + std::string(value.AsString()) + "'");
  }
  return Status::Ok();
}

Status BucketAutoStage::ParseField(const bson::Element& field, expr::agg::ParseScope& scope) {
  bson::Value value = field.value();
  if (field.name() == "groupBy") {
    if (!IsPathOrExpression(value)) {
      return Status(40239,
                    "The $bucketAuto 'groupBy' field must be defined as a $-prefixed path or "
                    "an expression object, but found: " +
                        bson::ToJson(value));
    }
    ASSIGN_OR_RETURN(group_by_, expr::agg::ParseExpression(value, scope));
    return Status::Ok();
  }
  if (field.name() == "buckets") {
    return ParseBuckets(value);
  }
  if (field.name() == "granularity") {
    return ParseGranularity(value);
  }
  if (field.name() == "output") {
    if (!value.is_document()) {
      return Status(40244, "The $bucketAuto 'output' field must be an object, but found type: " +
                               std::string(bson::TypeName(value.type())));
    }
    has_output_ = !value.AsDocument().empty();
    for (const bson::Element& output : value.AsDocument()) {
      RETURN_IF_ERROR(fields_.Add(output, scope));
    }
    return Status::Ok();
  }
  return Status(40245, "Unrecognized option to $bucketAuto: " + std::string(field.name()));
}

Status BucketAutoStage::Parse(const StageContext&) {
  if (!spec().is_document()) {
    return Status(40240, "The argument to $bucketAuto must be an object, but found type: " +
                             std::string(bson::TypeName(spec().type())));
  }
  expr::agg::ParseScope scope;
  scope.context = context();
  for (const bson::Element& field : spec().AsDocument()) {
    RETURN_IF_ERROR(ParseField(field, scope));
  }
  if (!group_by_ || buckets_ == 0) {
    return Status(40246, "$bucketAuto requires 'groupBy' and 'buckets' to be specified");
  }
  if (!has_output_) {
    bson::Builder builder;
    builder.BeginDocument("count").Append("$sum", int32_t{1}).End();
    count_ = builder.Finish();
    return fields_.Add(count_.view().front(), scope);
  }
  return Status::Ok();
}

Result<OperatorPtr> BucketAutoStage::Build(OpContext&, OperatorPtr input,
                                           const BuildOptions& build) const {
  exec::BucketAutoOptions options;
  options.base.id = group_by_.get();
  options.base.fields = fields_.Fields();
  options.base.context = context();
  options.base.allow_disk = build.allow_disk_use;
  options.buckets = buckets_;
  options.series = series_;
  return OperatorPtr(std::make_unique<exec::BucketAuto>(std::move(input), std::move(options)));
}

}  // namespace

Result<Stages> ParseBucket(const bson::Element& spec, const StageContext& context) {
  ASSIGN_OR_RETURN(BucketSpec read, ReadBucketSpec(spec.value()));
  ASSIGN_OR_RETURN(auto boundaries, ReadBoundaries(read.boundaries, context.context));
  bson::OwnedValue fallback;
  if (!read.fallback.missing()) {
    ASSIGN_OR_RETURN(fallback, ConstantOf(read.fallback, 40195, "default", context.context));
    RETURN_IF_ERROR(CheckDefault(fallback.value(), boundaries, context.context));
  }
  bson::Builder stages;
  stages.PushDocument().BeginDocument("$group");
  AppendSwitch(read, boundaries, fallback, &stages);
  if (read.output.missing()) {
    stages.BeginDocument("count").Append("$sum", int32_t{1}).End();
  } else {
    stages.AppendFields(read.output.AsDocument());
  }
  stages.End().End();
  stages.PushDocument().BeginDocument("$sort").Append("_id", int32_t{1}).End().End();
  return ParseDesugared(stages.Finish(), context);
}

Result<Stages> ParseBucketAuto(const bson::Element& spec, const StageContext& context) {
  return MakeStage<BucketAutoStage>(spec, context);
}

}  // namespace quire::pipeline
