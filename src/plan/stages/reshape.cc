// SPDX-License-Identifier: Apache-2.0
//
// Stages that work on each document by itself: $match, $project, $addFields, $set, $unset,
// $replaceRoot, $replaceWith, $redact.
#include <algorithm>

#include "exec/add_fields.h"
#include "exec/match.h"
#include "exec/project.h"
#include "exec/redact.h"
#include "exec/replace_root.h"
#include "exec/unary.h"
#include "expr/projection/fill.h"
#include "expr/projection/stage_spec.h"
#include "plan/stages/reshape_internal.h"
#include "plan/stages/stage_internal.h"

namespace quire::plan {

Status MatchStage::Parse(const StageContext&) {
  if (!spec().is_document()) {
    return Status(15959, "the match filter must be an expression in an object");
  }
  ASSIGN_OR_RETURN(filter_, expr::match::Filter::Parse(spec().AsDocument(), context()));
  return Status::Ok();
}

Result<OperatorPtr> MatchStage::Build(OpContext&, OperatorPtr input, PipelineEnvironment&) const {
  return OperatorPtr(std::make_unique<exec::Match>(std::move(input), filter_.get()));
}

bool MatchStage::AddDependencies(std::set<std::string>* fields) const {
  return AddFilterFields(spec().AsDocument(), fields);
}

bool FilterUses(bson::View filter, const std::vector<std::string_view>& operators) {
  for (const bson::Element& element : filter) {
    std::string_view name = element.name();
    if (std::find(operators.begin(), operators.end(), name) != operators.end()) {
      return true;
    }
    bool logical = name == "$and" || name == "$or" || name == "$nor";
    bool container = element.type() == bson::Type::kDocument ||
                     (logical && element.type() == bson::Type::kArray);
    bool plain = logical || name == "$not" || name.empty() || name[0] != '$' ||
                 name.find_first_not_of("0123456789") == std::string_view::npos;
    if (container && plain && FilterUses(element.value().AsDocument(), operators)) {
      return true;
    }
  }
  return false;
}

bool AddFilterFields(bson::View filter, std::set<std::string>* fields) {
  for (const bson::Element& element : filter) {
    std::string_view name = element.name();
    if (name == "$and" || name == "$or" || name == "$nor") {
      if (element.type() != bson::Type::kArray) {
        return false;
      }
      for (const bson::Element& branch : element.value().AsArray()) {
        if (branch.type() != bson::Type::kDocument ||
            !AddFilterFields(branch.value().AsDocument(), fields)) {
          return false;
        }
      }
    } else if (name == "$comment") {
      continue;
    } else if (name.empty() || name[0] == '$') {
      return false;
    } else {
      fields->emplace(name.substr(0, name.find('.')));
    }
  }
  return true;
}

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

Result<OperatorPtr> ProjectStage::Build(OpContext&, OperatorPtr input, PipelineEnvironment&) const {
  auto top =
      std::make_unique<exec::Project>(input.get(), projection_.get(), exec::RecordIds::kNone);
  return OperatorPtr(std::make_unique<exec::WithInput>(std::move(input), std::move(top)));
}

bool ProjectStage::AddDependencies(std::set<std::string>* fields) const {
  return projection_->is_exclusion() || projection_->AddDependencies(fields);
}

bool ProjectStage::Narrows() const { return !projection_->is_exclusion(); }

Status AddFieldsStage::Parse(const StageContext&) {
  if (!spec().is_document()) {
    return Status(40272, std::string(name()) + " specification stage must be an object, got " +
                             std::string(bson::TypeName(spec().type())));
  }
  ASSIGN_OR_RETURN(fields_, expr::AddFields::Parse(spec().AsDocument(), context()));
  return Status::Ok();
}

Result<OperatorPtr> AddFieldsStage::Build(OpContext&, OperatorPtr input,
                                          PipelineEnvironment&) const {
  return OperatorPtr(std::make_unique<exec::AddFields>(std::move(input), fields_.get(), context()));
}

bool AddFieldsStage::AddDependencies(std::set<std::string>* fields) const {
  return fields_->AddDependencies(fields);
}

void AddFieldsStage::Explain(bson::Builder* out) const { fields_->Serialize(name(), out); }

namespace {

class ReplaceRootStage : public Stage {
 public:
  using Stage::Stage;
  Status Parse(const StageContext&) {
    bson::Value root = spec();
    if (name() == "$replaceRoot") {
      ASSIGN_OR_RETURN(root, expr::NewRoot(root));
    }
    ASSIGN_OR_RETURN(root_, ParseExpression(root, context()));
    return Status::Ok();
  }
  Result<OperatorPtr> Build(OpContext&, OperatorPtr input, PipelineEnvironment&) const override {
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

 private:
  std::unique_ptr<expr::agg::Expression> root_;
};

class RedactStage : public Stage {
 public:
  using Stage::Stage;
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
  Result<OperatorPtr> Build(OpContext&, OperatorPtr input, PipelineEnvironment&) const override {
    return OperatorPtr(
        std::make_unique<exec::Redact>(std::move(input), expression_.get(), variables_, context()));
  }

 private:
  static size_t Declare(const char* name, expr::agg::ParseScope* scope) {
    scope->variables.emplace_back(name, scope->slots);
    return scope->slots++;
  }
  std::unique_ptr<expr::agg::Expression> expression_;
  exec::RedactVariables variables_;
};

}  // namespace

Result<Stages> ParseMatch(const bson::Element& spec, const StageContext& context) {
  if (spec.type() == bson::Type::kDocument) {
    expr::match::Allowed allowed = expr::match::Allowed::InMatchStage();
    allowed.where = false;
    RETURN_IF_ERROR(
        expr::match::Filter::Parse(spec.value().AsDocument(), context.context, allowed).status());
  }
  return MakeStage<MatchStage>(spec, context);
}
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
Result<Stages> ParseFill(const bson::Element& spec, const StageContext& context) {
  ASSIGN_OR_RETURN(bson::Document meant, expr::StagesOfFill(spec.value()));
  return ParseDesugared(meant, context);
}
Result<Stages> ParseRedact(const bson::Element& spec, const StageContext& context) {
  return MakeStage<RedactStage>(spec, context);
}

}  // namespace quire::plan
