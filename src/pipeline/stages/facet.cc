// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/facet.h"

#include "pipeline/explain.h"
#include "pipeline/needs.h"
#include "pipeline/parse.h"
#include "pipeline/rewrite.h"
#include "pipeline/stages/parsing.h"

namespace quire::pipeline {

void FacetStage::AddNamespaces(std::vector<Namespace>* namespaces) const {
  for (const Branch& branch : branches_) {
    pipeline::AddNamespaces(branch.stages, namespaces);
  }
}

Status FacetStage::ParseBranch(const bson::Element& field, const StageContext& context) {
  std::string name(field.name());
  if (name.empty()) {
    return Status(15998, "FieldPath field names may not be empty strings.");
  }
  if (name[0] == '$') {
    return Status(16410, "FieldPath field names may not start with '$'.");
  }
  if (name.find('.') != std::string::npos) {
    return Status(16412, "FieldPath field names may not contain '.'.");
  }
  if (field.type() != bson::Type::kArray) {
    return Status(40170, "arguments to $facet must be arrays, " + name + " is type " +
                             std::string(bson::TypeName(field.type())));
  }
  for (const bson::Element& stage : field.value().AsArray()) {
    if (stage.type() != bson::Type::kDocument) {
      return Status(40171, "elements of arrays in $facet spec must be non-empty objects, " + name +
                               " argument contained an element of type " +
                               std::string(bson::TypeName(stage.type())));
    }
  }
  PipelineOptions options = context.options;
  options.place = PipelinePlace::kFacet;
  options.in_facet = true;
  ++options.depth;
  Branch branch;
  branch.name = std::move(name);
  ASSIGN_OR_RETURN(branch.stages, ParsePipeline(field.value().AsArray(), options, context.context));
  RETURN_IF_ERROR(RewriteStages(&branch.stages, context.context));
  branches_.push_back(std::move(branch));
  return Status::Ok();
}

Status FacetStage::Parse(const StageContext& context) {
  if (!spec().is_document() || spec().AsDocument().empty()) {
    return Status(40169, "the $facet specification must be a non-empty object");
  }
  for (const bson::Element& field : spec().AsDocument()) {
    RETURN_IF_ERROR(ParseBranch(field, context));
  }
  return Status::Ok();
}

bool FacetStage::AddDependencies(std::set<std::string>* fields) const {
  for (const Branch& branch : branches_) {
    bool narrowed = false;
    for (size_t i = 0; i < branch.stages.size() && !narrowed; ++i) {
      if (!branch.stages[i]->AddDependencies(fields)) {
        return false;
      }
      narrowed = branch.stages[i]->Narrows();
    }
    if (!narrowed) {
      return false;
    }
  }
  return true;
}

void FacetStage::Explain(bson::Builder* out) const {
  out->BeginDocument("$facet");
  for (const Branch& branch : branches_) {
    out->BeginArray(branch.name);
    ExplainStages(branch.stages, {}, out);
    out->End();
  }
  out->End();
}

Status FacetNeeds(const bson::Element& spec, const PipelineOptions& options, auth::Needs* needs) {
  if (!spec.value().is_document()) {
    return Status::Ok();
  }
  PipelineOptions inner = options;
  inner.place = PipelinePlace::kFacet;
  ++inner.depth;
  for (const bson::Element& branch : spec.value().AsDocument()) {
    if (branch.type() == bson::Type::kArray) {
      RETURN_IF_ERROR(AddPipelineNeeds(branch.value().AsArray(), inner, needs));
    }
  }
  return Status::Ok();
}

Result<Stages> ParseFacet(const bson::Element& spec, const StageContext& context) {
  return MakeStage<FacetStage>(spec, context);
}

}  // namespace quire::pipeline
