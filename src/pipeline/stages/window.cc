// SPDX-License-Identifier: Apache-2.0
//
// $setWindowFields.
#include "bson/compare.h"
#include "bson/number.h"
#include "exec/window/set_window_fields.h"
#include "expr/projection/add_fields.h"
#include "pipeline/stages/order.h"
#include "pipeline/stages/parsing.h"

namespace quire::pipeline {

namespace {

using exec::WindowBound;
using exec::WindowBounds;

Result<WindowBound> ParseBound(const bson::Value& value, bool range) {
  WindowBound bound;
  if (value.is_string() && value.AsString() == "unbounded") {
    return bound;
  }
  if (value.is_string() && value.AsString() == "current") {
    bound.kind = WindowBound::Kind::kCurrent;
    return bound;
  }
  if (!value.is_number() || (!range && !bson::ExactInt64(value))) {
    return Status(kFailedToParse,
                  range ? "Range-based bounds expression must be a number, 'current' or 'unbounded'"
                        : "Numeric document-based bounds must be an integer, 'current' or "
                          "'unbounded'");
  }
  bound.kind = WindowBound::Kind::kOffset;
  bound.offset = bson::OwnedValue(value);
  return bound;
}

bson::Value Offset(const WindowBound& bound) {
  return bound.kind == WindowBound::Kind::kOffset ? bound.offset.value() : bson::Value(int32_t{0});
}

Status ParsePair(const bson::Element& field, WindowBounds* bounds) {
  bounds->range = field.name() == "range";
  if (field.type() != bson::Type::kArray || field.value().AsArray().Count() != 2) {
    return Status(kFailedToParse,
                  "Window bounds must be a 2-element array: " + std::string(field.name()) + ": " +
                      bson::ToJson(field.value()));
  }
  bson::View pair = field.value().AsArray();
  ASSIGN_OR_RETURN(bounds->lower, ParseBound(pair["0"], bounds->range));
  ASSIGN_OR_RETURN(bounds->upper, ParseBound(pair["1"], bounds->range));
  bool bounded = bounds->lower.kind != WindowBound::Kind::kUnbounded &&
                 bounds->upper.kind != WindowBound::Kind::kUnbounded;
  if (bounded && bson::CompareNumbers(Offset(bounds->lower), Offset(bounds->upper)) > 0) {
    return Status(5339900, "Lower bound must not exceed upper bound: " + bson::ToJson(pair));
  }
  return Status::Ok();
}

Status CheckBounds(const WindowBounds& bounds, bool has_pair, const exec::WindowSort& sort) {
  if (bounds.unit && !(has_pair && bounds.range)) {
    return Status(kFailedToParse, "Window bounds can only specify 'unit' with range-based bounds");
  }
  if (!has_pair) {
    return Status::Ok();
  }
  if (!bounds.range) {
    return bounds.whole_partition() || sort.given
               ? Status::Ok()
               : Status(5339901, "Document-based bounds require a sortBy");
  }
  if (bounds.whole_partition()) {
    return Status::Ok();
  }
  if (sort.fields != 1) {
    return Status(5339902, "Range-based bounds require sortBy a single field");
  }
  if (!sort.ascending) {
    return Status(8947401, "Range-based bounds require a non-descending sortBy field");
  }
  return Status::Ok();
}

Result<WindowBounds> ParseBounds(const bson::Value& window, const exec::WindowSort& sort) {
  if (!window.is_document()) {
    return Status(kFailedToParse, "'window' field must be an object");
  }
  WindowBounds bounds;
  bool has_pair = false;
  for (const bson::Element& field : window.AsDocument()) {
    if (field.name() == "documents" || field.name() == "range") {
      if (has_pair) {
        return Status(kFailedToParse,
                      "Window bounds can specify either 'documents' or 'unit', not both.");
      }
      has_pair = true;
      RETURN_IF_ERROR(ParsePair(field, &bounds));
    } else if (field.name() == "unit") {
      if (field.type() == bson::Type::kString) {
        bounds.unit = expr::date::ParseUnit(field.value().AsString());
      }
      if (!bounds.unit) {
        return Status(kFailedToParse, "unknown time unit value: " + bson::ToJson(field.value()));
      }
    } else {
      return Status(kFailedToParse,
                    "'window' field can only contain 'documents' as the only "
                    "argument or 'range' with an optional 'unit' field, not " +
                        std::string(field.name()));
    }
  }
  RETURN_IF_ERROR(CheckBounds(bounds, has_pair, sort));
  return bounds;
}

class WindowStage : public StageOf<StageKind::kWindow> {
 public:
  using StageOf::StageOf;
  Status Parse(const StageContext& context);
  Result<OperatorPtr> Build(OpContext&, OperatorPtr input,
                            const BuildOptions& build) const override;
  Spread spread() const override { return Spread::kOnce; }

 private:
  struct Output {
    exec::FieldPath path;
    std::unique_ptr<exec::WindowFunction> function;
  };
  Status ParseSortBy(const bson::Value& value, const StageContext& context);
  Status ParseOutput(const bson::Element& field);

  std::unique_ptr<expr::agg::Expression> partition_by_;
  expr::SortPattern sort_;
  exec::WindowSort sort_info_;
  std::vector<Output> outputs_;
};

// Through a $sort, so that its rules and errors apply.
Status WindowStage::ParseSortBy(const bson::Value& value, const StageContext& context) {
  if (value.type() == bson::Type::kNull) {
    return Status::Ok();
  }
  if (!value.is_document()) {
    return WrongType("$setWindowFields.sortBy", value, "object");
  }
  sort_info_.given = true;
  if (value.AsDocument().empty()) {
    return Status::Ok();
  }
  bson::Builder builder;
  builder.Append("$sort", value);
  bson::Document spec = builder.Finish();
  SortStage sort(spec.view().front(), context);
  RETURN_IF_ERROR(sort.Parse(context));
  sort_ = sort.pattern();
  sort_info_.fields = sort_.parts().size();
  sort_info_.ascending = sort_.parts()[0].ascending;
  return Status::Ok();
}

// Ranks take nothing beside themselves.
bool IsRank(const bson::Element& function) {
  return function.present() && (function.name() == "$rank" || function.name() == "$denseRank" ||
                                function.name() == "$documentNumber");
}

Status WindowStage::ParseOutput(const bson::Element& field) {
  RETURN_IF_ERROR(expr::CheckFieldPath(field.name()));
  if (field.type() != bson::Type::kDocument) {
    return Status(kFailedToParse,
                  "The field '" + std::string(field.name()) + "' must be an object");
  }
  bson::Element function;
  bson::Value window;
  for (const bson::Element& part : field.value().AsDocument()) {
    if (part.name() == "window") {
      window = part.value();
    } else if (!part.name().empty() && part.name()[0] == '$' && !function.present()) {
      function = part;
    } else {
      return Status(IsRank(function) ? 5371601 : kFailedToParse,
                    "Window function found an unknown argument: " + std::string(part.name()));
    }
  }
  if (!function.present()) {
    return Status(kFailedToParse, "Expected a $-prefixed window function");
  }
  WindowBounds bounds;
  if (!window.missing()) {
    ASSIGN_OR_RETURN(bounds, ParseBounds(window, sort_info_));
  }
  Output output;
  output.path = exec::SplitFieldPath(field.name());
  ASSIGN_OR_RETURN(output.function,
                   exec::ParseWindowFunction(function, window.missing() ? nullptr : &bounds,
                                             sort_info_, context()));
  outputs_.push_back(std::move(output));
  return Status::Ok();
}

Status WindowStage::Parse(const StageContext& context) {
  if (!spec().is_document()) {
    return Status(kFailedToParse,
                  "the $setWindowFields stage specification must be an object, "
                  "found " +
                      std::string(bson::TypeName(spec().type())));
  }
  bson::Value output;
  for (const bson::Element& field : spec().AsDocument()) {
    bson::Value value = field.value();
    if (field.name() == "partitionBy") {
      ASSIGN_OR_RETURN(partition_by_, ParseExpression(value, this->context()));
    } else if (field.name() == "sortBy") {
      RETURN_IF_ERROR(ParseSortBy(value, context));
    } else if (field.name() == "output") {
      if (!value.is_document()) {
        return WrongType("$setWindowFields.output", value, "object");
      }
      output = value;
    } else {
      return Status(40415, "BSON field '$setWindowFields." + std::string(field.name()) +
                               "' is an unknown field.");
    }
  }
  if (output.missing()) {
    return Status(40414, "BSON field '$setWindowFields.output' is missing but a required field");
  }
  for (const bson::Element& field : output.AsDocument()) {
    RETURN_IF_ERROR(ParseOutput(field));
  }
  return Status::Ok();
}

Result<OperatorPtr> WindowStage::Build(OpContext&, OperatorPtr input,
                                       const BuildOptions& build) const {
  exec::WindowOptions options;
  options.partition_by = partition_by_.get();
  options.sort = &sort_;
  options.context = context();
  options.allow_disk = build.allow_disk_use;
  for (const Output& output : outputs_) {
    options.outputs.push_back({output.path, output.function.get()});
  }
  return OperatorPtr(std::make_unique<exec::SetWindowFields>(std::move(input), std::move(options)));
}

}  // namespace

Result<Stages> ParseSetWindowFields(const bson::Element& spec, const StageContext& context) {
  return MakeStage<WindowStage>(spec, context);
}

}  // namespace quire::pipeline
