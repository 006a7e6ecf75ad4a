// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/graph_lookup.h"

#include "bson/number.h"
#include "expr/match/match.h"
#include "expr/projection/add_fields.h"
#include "pipeline/stages/foreign.h"
#include "pipeline/stages/parsing.h"

namespace quire::pipeline {

Status GraphLookupStage::ParseMaxDepth(const bson::Value& value) {
  if (!value.is_number()) {
    return Status(40100, "maxDepth must be numeric, found type: " +
                             std::string(bson::TypeName(value.type())));
  }
  if (bson::IsNegative(value)) {
    return Status(40101, "maxDepth requires a nonnegative argument, found: " + bson::ToJson(value));
  }
  auto depth = bson::ExactInt64(value);
  if (!depth) {
    return Status(40102,
                  "maxDepth could not be represented as a long long: " + bson::ToJson(value));
  }
  options_.max_depth = *depth;
  return Status::Ok();
}

Status GraphLookupStage::ParseField(const bson::Element& field, const StageContext& context) {
  std::string name(field.name());
  bson::Value value = field.value();
  if (name == "startWith") {
    ASSIGN_OR_RETURN(start_with_, ParseExpression(value, context.context));
    return Status::Ok();
  }
  if (name == "maxDepth") {
    return ParseMaxDepth(value);
  }
  if (name == "restrictSearchWithMatch") {
    if (!value.is_document()) {
      return Status(40185, "restrictSearchWithMatch must be an object, found " +
                               std::string(bson::TypeName(value.type())));
    }
    restrict_ = bson::Document(value.AsDocument());
    expr::match::Allowed allowed;
    allowed.where = false;
    return expr::match::Filter::Parse(restrict_, context.context, allowed).status();
  }
  if (name == "from" && value.is_document()) {
    ASSIGN_OR_RETURN(ns_, ParseFrom(value, "$graphLookup", context.options.ns));
    return Status::Ok();
  }
  if (name != "from" && name != "connectFromField" && name != "connectToField" && name != "as" &&
      name != "depthField") {
    return Status(40104, "Unknown argument to $graphLookup: " + name);
  }
  if (!value.is_string()) {
    return Status(40103,
                  "expected string as argument for " + name + ", found: " + bson::ToJson(value));
  }
  if (name == "from") {
    ASSIGN_OR_RETURN(ns_, ParseFrom(value, "$graphLookup", context.options.ns));
    return Status::Ok();
  }
  RETURN_IF_ERROR(expr::CheckFieldPath(value.AsString()));
  if (name == "connectToField") {
    options_.connect_to = value.AsString();
  } else {
    exec::FieldPath path = exec::SplitFieldPath(value.AsString());
    (name == "as"           ? options_.as
     : name == "depthField" ? options_.depth_field
                            : options_.connect_from) = path;
  }
  return Status::Ok();
}

Status GraphLookupStage::Parse(const StageContext& context) {
  if (!spec().is_document()) {
    return Status(40327, "the $graphLookup stage specification must be an object, but found " +
                             std::string(bson::TypeName(spec().type())));
  }
  for (const bson::Element& field : spec().AsDocument()) {
    RETURN_IF_ERROR(ParseField(field, context));
  }
  if (ns_.collection.empty() || !start_with_ || options_.connect_from.empty() ||
      options_.connect_to.empty() || options_.as.empty()) {
    return Status(40105,
                  "$graphLookup requires 'from', 'as', 'startWith', 'connectFromField', and "
                  "'connectToField' to be specified.");
  }
  options_.start_with = start_with_.get();
  pipeline_options_ = context.options;
  pipeline_options_.place = PipelinePlace::kLookup;
  pipeline_options_.ns = ns_;
  ++pipeline_options_.depth;
  return Status::Ok();
}

Status GraphLookupNeeds(const bson::Element& spec, const PipelineOptions& options,
                        auth::Needs* needs) {
  if (!spec.value().is_document()) {
    return Status::Ok();
  }
  return AddInnerNeeds(spec.value().AsDocument()["from"], bson::Value(), "$graphLookup", options,
                       needs);
}

Result<Stages> ParseGraphLookup(const bson::Element& spec, const StageContext& context) {
  return MakeStage<GraphLookupStage>(spec, context);
}

}  // namespace quire::pipeline
