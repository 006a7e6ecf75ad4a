// SPDX-License-Identifier: Apache-2.0
//
// Stages that write each document anew: $project, $addFields, $set, $unset, $replaceRoot,
// $replaceWith, $redact.
#include "pipeline/stages/reshape.h"

#include <algorithm>

#include "exec/add_fields.h"
#include "exec/project.h"
#include "exec/redact.h"
#include "exec/replace_root.h"
#include "exec/unary.h"
#include "expr/projection/stage_spec.h"
#include "pipeline/stages/parsing.h"

namespace quire::pipeline {

namespace {

std::string_view FirstStep(std::string_view path) { return path.substr(0, path.find('.')); }

}  // namespace

Status ProjectStage::Parse(const StageContext&) {
  if (!spec().is_document()) {
    return Status(15969, "$project specification must be an object");
  }
  ASSIGN_OR_RETURN(projection_,
                   expr::Projection::Parse(spec().AsDocument(),
                                           expr::Projection::Policy::kAggregate, context()));
  return Status::Ok();
}

Status UnsetStage::Parse(const StageContext&) {
  ASSIGN_OR_RETURN(exclusion_, expr::UnsetSpec(spec()));
  ASSIGN_OR_RETURN(projection_, expr::Projection::Parse(
                                    exclusion_, expr::Projection::Policy::kAggregate, context()));
  return Status::Ok();
}

Result<OperatorPtr> ProjectStage::Build(OpContext&, OperatorPtr input, const BuildOptions&) const {
  auto top =
      std::make_unique<exec::Project>(input.get(), projection_.get(), exec::RecordIds::kNone);
  return OperatorPtr(std::make_unique<exec::WithInput>(std::move(input), std::move(top)));
}

bool ProjectStage::AddDependencies(std::set<std::string>* fields) const {
  return projection_->is_exclusion() || projection_->AddDependencies(fields);
}

bool ProjectStage::Narrows() const { return !projection_->is_exclusion(); }

bool ProjectStage::LetsFilterPass(const std::set<std::string>& fields) const {
  if (!projection_->is_exclusion()) {
    std::set<std::string> kept;
    return projection_->PlainInclusion(&kept) &&
           std::includes(kept.begin(), kept.end(), fields.begin(), fields.end());
  }
  bson::View paths = document();
  return std::none_of(paths.begin(), paths.end(), [&](const bson::Element& path) {
    return fields.count(std::string(FirstStep(path.name()))) > 0;
  });
}

Status AddFieldsStage::Parse(const StageContext&) {
  if (!spec().is_document()) {
    return Status(40272, std::string(name()) + " specification stage must be an object, got " +
                             std::string(bson::TypeName(spec().type())));
  }
  ASSIGN_OR_RETURN(fields_, expr::AddFields::Parse(spec().AsDocument(), context()));
  return Status::Ok();
}

Result<OperatorPtr> AddFieldsStage::Build(OpContext&, OperatorPtr input,
                                          const BuildOptions&) const {
  return OperatorPtr(std::make_unique<exec::AddFields>(std::move(input), fields_.get(), context()));
}

bool AddFieldsStage::AddDependencies(std::set<std::string>* fields) const {
  return fields_->AddDependencies(fields);
}

bool AddFieldsStage::LetsFilterPass(const std::set<std::string>& fields) const {
  auto written = fields_->Written();
  return std::none_of(written.begin(), written.end(),
                      [&](std::string_view name) { return fields.count(std::string(name)) > 0; });
}

void AddFieldsStage::Explain(bson::Builder* out) const { fields_->Serialize(name(), out); }

namespace {

class ReplaceRootStage : public StageOf<StageKind::kReplaceRoot> {
 public:
  using StageOf::StageOf;
  Status Parse(const StageContext&) {
    bson::Value root = spec();
    if (name() == "$replaceRoot") {
      ASSIGN_OR_RETURN(root, expr::NewRoot(root));
    }
    ASSIGN_OR_RETURN(root_, ParseExpression(root, context()));
    return Status::Ok();
  }
  Result<OperatorPtr> Build(OpContext&, OperatorPtr input, const BuildOptions&) const override {
    return OperatorPtr(
        std::make_unique<exec::ReplaceRoot>(std::move(input), root_.get(), context()));
  }
  bool AddDependencies(std::set<std::string>* fields) const override {
    return root_->AddDependencies(fields);
  }
  bool Narrows() const override { return true; }
  void Explain(bson::Builder* out) const override {
    out->BeginDocument("$replaceRoot");
    root_->Serialize("newRoot", out);
    out->End();
  }
  Spread spread() const override { return Spread::kEach; }

 private:
  std::unique_ptr<expr::agg::Expression> root_;
};

class RedactStage : public StageOf<StageKind::kRedact> {
 public:
  using StageOf::StageOf;
  Status Parse(const StageContext&) {
    expr::agg::ParseScope scope;
    scope.context = context();
    variables_.descend = Declare("DESCEND", &scope);
    variables_.prune = Declare("PRUNE", &scope);
    variables_.keep = Declare("KEEP", &scope);
    variables_.current = Declare("CURRENT", &scope);
    ASSIGN_OR_RETURN(expression_, expr::agg::ParseExpression(spec(), scope));
    return Status::Ok();
  }
  Result<OperatorPtr> Build(OpContext&, OperatorPtr input, const BuildOptions&) const override {
    return OperatorPtr(
        std::make_unique<exec::Redact>(std::move(input), expression_.get(), variables_, context()));
  }
  Spread spread() const override { return Spread::kEach; }

 private:
  static size_t Declare(const char* name, expr::agg::ParseScope* scope) {
    scope->variables.emplace_back(name, scope->slots);
    return scope->slots++;
  }
  std::unique_ptr<expr::agg::Expression> expression_;
  exec::RedactVariables variables_;
};

}  // namespace

Result<Stages> ParseProject(const bson::Element& spec, const StageContext& context) {
  return MakeStage<ProjectStage>(spec, context);
}
Result<Stages> ParseUnset(const bson::Element& spec, const StageContext& context) {
  return MakeStage<UnsetStage>(spec, context);
}
Result<Stages> ParseAddFields(const bson::Element& spec, const StageContext& context) {
  return MakeStage<AddFieldsStage>(spec, context);
}
Result<Stages> ParseReplaceRoot(const bson::Element& spec, const StageContext& context) {
  return MakeStage<ReplaceRootStage>(spec, context);
}
Result<Stages> ParseRedact(const bson::Element& spec, const StageContext& context) {
  return MakeStage<RedactStage>(spec, context);
}

}  // namespace quire::pipeline
