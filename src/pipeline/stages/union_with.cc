// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/union_with.h"

#include "pipeline/parse.h"
#include "pipeline/stages/foreign.h"
#include "pipeline/stages/parsing.h"

namespace quire::pipeline {

Status UnionWithStage::ParseFields(const StageContext& context) {
  bson::Value coll;
  bson::Value pipeline;
  for (const bson::Element& field : spec().AsDocument()) {
    bson::Value value = field.value();
    if (field.name() == "coll") {
      if (!value.is_string()) {
        return WrongType("$unionWith.coll", value, "string");
      }
      coll = value;
    } else if (field.name() == "pipeline") {
      if (!value.is_array()) {
        return WrongType("$unionWith.pipeline", value, "array");
      }
      pipeline = value;
    } else {
      return Status(
          40415, "BSON field '$unionWith." + std::string(field.name()) + "' is an unknown field.");
    }
  }
  if (coll.missing() && !StartsWithDocuments(pipeline)) {
    return Status(kFailedToParse,
                  "$unionWith stage without explicit collection must have a "
                  "pipeline with $documents as first stage");
  }
  if (!coll.missing()) {
    ASSIGN_OR_RETURN(ns_, ParseFrom(coll, "$unionWith", context.options.ns));
  }
  if (!pipeline.missing()) {
    pipeline_ = bson::Document(pipeline.AsArray());
  }
  return Status::Ok();
}

Status UnionWithStage::Parse(const StageContext& context) {
  options_ = context.options;
  options_.place = PipelinePlace::kUnionWith;
  ++options_.depth;
  if (spec().is_string()) {
    ASSIGN_OR_RETURN(ns_, ParseFrom(spec(), "$unionWith", context.options.ns));
  } else if (spec().is_document()) {
    RETURN_IF_ERROR(ParseFields(context));
  } else {
    return Status(kFailedToParse,
                  "the $unionWith stage specification must be an object or string, but found " +
                      std::string(bson::TypeName(spec().type())));
  }
  options_.ns = ns_.collection.empty() ? context.options.ns : ns_;
  return ParsePipeline(pipeline_, options_, context.context).status();
}

void UnionWithStage::Explain(bson::Builder* out) const {
  out->BeginDocument("$unionWith")
      .Append("coll", ns_.collection)
      .AppendArray("pipeline", pipeline_)
      .End();
}

Status UnionWithNeeds(const bson::Element& spec, const PipelineOptions& options,
                      auth::Needs* needs) {
  if (!spec.value().is_document()) {
    return AddInnerNeeds(spec.value(), bson::Value(), "$unionWith", options, needs);
  }
  bson::View fields = spec.value().AsDocument();
  return AddInnerNeeds(fields["coll"], fields["pipeline"], "$unionWith", options, needs);
}

Result<Stages> ParseUnionWith(const bson::Element& spec, const StageContext& context) {
  return MakeStage<UnionWithStage>(spec, context);
}

}  // namespace quire::pipeline
