// SPDX-License-Identifier: Apache-2.0
//
// $sort, $skip, $limit, $sample.
#include "pipeline/stages/order.h"

#include "bson/decimal.h"
#include "bson/number.h"
#include "exec/limit.h"
#include "exec/sample.h"
#include "exec/sort/sort.h"
#include "exec/unary.h"
#include "expr/projection/add_fields.h"
#include "pipeline/stages/parsing.h"

namespace quire::pipeline {

namespace {

// Doubles are cut, decimals rounded to even, as the server reads lenient numbers.
int64_t RoundedInt64(const bson::Value& number) {
  if (number.type() != bson::Type::kDecimal128) {
    return bson::ClampedInt64(number);
  }
  auto rounded = bson::decimal::ToInt64(number.AsDecimal(), bson::decimal::Rounding::kNearestEven);
  return rounded ? *rounded : bson::ClampedInt64(number);
}

Status CheckSortMeta(bson::View part) {
  if (part.empty() || part.front().name() != "$meta") {
    return Status(17312, "$meta is the only expression supported by $sort right now");
  }
  if (part.Count() != 1) {
    return Status(kFailedToParse, "Cannot have additional keys in a $meta sort specification");
  }
  bson::Value what = part.front().value();
  if (!what.is_string() || (what.AsString() != "textScore" && what.AsString() != "randVal" &&
                            what.AsString() != "geoNearDistance" &&
                            what.AsString() != "searchScore" && what.AsString() != "score")) {
    return Status(31138, "Illegal $meta sort: " + bson::ToJson(part));
  }
  return Status::Ok();
}

Status CheckSortPart(const bson::Element& part) {
  bson::Value order = part.value();
  if (order.is_document()) {
    RETURN_IF_ERROR(expr::CheckFieldPath(part.name()));
    return CheckSortMeta(order.AsDocument());
  }
  if (!order.is_number()) {
    return Status(15974, "Illegal key in $sort specification: " + std::string(part.name()) + ": " +
                             bson::ToJson(order));
  }
  if (std::abs(RoundedInt64(order)) != 1) {
    return Status(15975, "$sort key ordering must be 1 (for ascending) or -1 (for descending)");
  }
  return expr::CheckFieldPath(part.name());
}

}  // namespace

Status SortStage::Parse(const StageContext&) {
  if (!spec().is_document()) {
    return Status(15973, "the $sort key specification must be an object");
  }
  bson::View parts = spec().AsDocument();
  if (parts.empty()) {
    return Status(15976, "$sort stage must have at least one sort key");
  }
  size_t count = 0;
  std::set<std::string_view> names;
  bson::Builder normal;
  for (const bson::Element& part : parts) {
    RETURN_IF_ERROR(CheckSortPart(part));
    bool meta = part.type() == bson::Type::kDocument;
    count += !meta;
    if (count > 32) {
      return Status(13103, "too many compound keys");
    }
    if (meta) {
      normal.Append(part);
    } else {
      normal.Append(part.name(), static_cast<int32_t>(RoundedInt64(part.value())));
    }
    if (!names.insert(part.name()).second) {
      return Status(7472500, "$sort key must not contain duplicate keys");
    }
  }
  normal_ = normal.Finish();
  ASSIGN_OR_RETURN(pattern_, expr::SortPattern::Parse(normal_));
  return Status::Ok();
}

Result<OperatorPtr> SortStage::Build(OpContext& op, OperatorPtr input,
                                     const BuildOptions& build) const {
  exec::SorterOptions options;
  options.limit = static_cast<uint64_t>(limit_);
  options.memory_limit = op.memory_limit;
  options.allow_disk = build.allow_disk_use;
  auto top = std::make_unique<exec::Sort>(input.get(), &pattern_, context(), options);
  return OperatorPtr(std::make_unique<exec::WithInput>(std::move(input), std::move(top)));
}

void SortStage::Explain(bson::Builder* out) const {
  out->BeginDocument("$sort").Append("sortKey", document());
  if (limit_ > 0) {
    out->Append("limit", limit_);
  }
  out->End();
}

bool SortStage::AddDependencies(std::set<std::string>* fields) const {
  for (const expr::SortPattern::Part& part : pattern_.parts()) {
    if (part.meta.empty()) {
      fields->insert(part.path.substr(0, part.path.find('.')));
    }
  }
  return true;
}

Status CutStage::Parse(const StageContext&) {
  int code = is_limit() ? 5107201 : 5107200;
  int64_t n = 0;
  if (!spec().is_number() || !ToInteger(spec(), &n) || n < 0) {
    return Status(code, "invalid argument to " + std::string(name()) +
                            " stage: Expected a non-negative number in: " + std::string(name()) +
                            ": " + bson::ToJson(spec()));
  }
  if (is_limit() && n == 0) {
    return Status(15958, "the limit must be positive");
  }
  count_ = n;
  return Status::Ok();
}

Result<OperatorPtr> CutStage::Build(OpContext&, OperatorPtr input, const BuildOptions&) const {
  OperatorPtr top;
  if (is_limit()) {
    top = std::make_unique<exec::Limit>(input.get(), count_);
  } else {
    top = std::make_unique<exec::Skip>(input.get(), count_);
  }
  return OperatorPtr(std::make_unique<exec::WithInput>(std::move(input), std::move(top)));
}

namespace {

class SampleStage : public StageOf<StageKind::kSample> {
 public:
  using StageOf::StageOf;
  Status Parse(const StageContext&);
  Result<OperatorPtr> Build(OpContext& op, OperatorPtr input,
                            const BuildOptions& build) const override {
    exec::SorterOptions options;
    options.memory_limit = op.memory_limit;
    options.allow_disk = build.allow_disk_use;
    return OperatorPtr(std::make_unique<exec::Sample>(std::move(input), size_, options));
  }
  Spread spread() const override { return Spread::kMerged; }

 private:
  int64_t size_ = 0;
};

Status SampleStage::Parse(const StageContext&) {
  if (!spec().is_document()) {
    return Status(28745, "the $sample stage specification must be an object");
  }
  for (const bson::Element& field : spec().AsDocument()) {
    if (field.name() != "size") {
      return Status(28748, "unrecognized option to $sample: " + std::string(field.name()));
    }
    if (!field.value().is_number()) {
      return Status(28746, "size argument to $sample must be a number");
    }
  }
  bson::Value size = spec().AsDocument()["size"];
  if (size.missing()) {
    return Status(28749, "$sample stage must specify a size");
  }
  size_ = RoundedInt64(size);
  if (size_ <= 0) {
    return Status(28747, "size argument to $sample must be a positive integer");
  }
  return Status::Ok();
}

}  // namespace

Result<Stages> ParseSort(const bson::Element& spec, const StageContext& context) {
  return MakeStage<SortStage>(spec, context);
}
Result<Stages> ParseSkip(const bson::Element& spec, const StageContext& context) {
  return MakeStage<CutStage>(spec, context);
}
Result<Stages> ParseLimit(const bson::Element& spec, const StageContext& context) {
  return MakeStage<CutStage>(spec, context);
}
Result<Stages> ParseSample(const bson::Element& spec, const StageContext& context) {
  return MakeStage<SampleStage>(spec, context);
}

}  // namespace quire::pipeline
