// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/match.h"

#include <algorithm>

#include "exec/match.h"
#include "pipeline/stages/parsing.h"

namespace quire::pipeline {

Status MatchStage::Parse(const StageContext&) {
  if (!spec().is_document()) {
    return Status(15959, "the match filter must be an expression in an object");
  }
  ASSIGN_OR_RETURN(filter_, expr::match::Filter::Parse(spec().AsDocument(), context()));
  return Status::Ok();
}

Result<OperatorPtr> MatchStage::Build(OpContext&, OperatorPtr input, const BuildOptions&) const {
  return OperatorPtr(std::make_unique<exec::Match>(std::move(input), filter_.get()));
}

bool MatchStage::AddDependencies(std::set<std::string>* fields) const {
  return AddFilterFields(spec().AsDocument(), fields);
}

bool MatchStage::StaysInPlace() const {
  return FilterUses(filter(), {"$text", "$near", "$nearSphere", "$where"});
}

Result<StagePtr> MakeMatch(bson::View filter, const StageContext& context) {
  bson::Document spec = bson::Builder().Append("$match", filter).Finish();
  ASSIGN_OR_RETURN(Stages made, MakeStage<MatchStage>(spec.view().front(), context));
  return std::move(made[0]);
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

Result<Stages> ParseMatch(const bson::Element& spec, const StageContext& context) {
  if (spec.type() == bson::Type::kDocument) {
    expr::match::Allowed allowed = expr::match::Allowed::InMatchStage();
    allowed.where = false;
    RETURN_IF_ERROR(
        expr::match::Filter::Parse(spec.value().AsDocument(), context.context, allowed).status());
  }
  return MakeStage<MatchStage>(spec, context);
}

}  // namespace quire::pipeline
