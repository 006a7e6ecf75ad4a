// SPDX-License-Identifier: Apache-2.0
//
// The reshaping stages that rewrites look into.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "expr/match/match.h"
#include "expr/projection/add_fields.h"
#include "expr/projection/projection.h"
#include "plan/stage.h"

namespace quire::plan {

class MatchStage : public Stage {
 public:
  using Stage::Stage;
  Status Parse(const StageContext& context);
  Result<OperatorPtr> Build(OpContext& op, OperatorPtr input,
                            PipelineEnvironment& env) const override;
  bool AddDependencies(std::set<std::string>* fields) const override;
  bson::View filter() const { return spec().AsDocument(); }

 private:
  std::unique_ptr<expr::match::Filter> filter_;
};

class ProjectStage : public Stage {
 public:
  using Stage::Stage;
  Status Parse(const StageContext& context);
  Result<OperatorPtr> Build(OpContext& op, OperatorPtr input,
                            PipelineEnvironment& env) const override;
  bool AddDependencies(std::set<std::string>* fields) const override;
  bool Narrows() const override;
  const expr::Projection& projection() const { return *projection_; }
  // The specification as a projection's document.
  virtual bson::View document() const { return spec().AsDocument(); }

 protected:
  std::unique_ptr<expr::Projection> projection_;
};

// $unset: an exclusion.
class UnsetStage : public ProjectStage {
 public:
  using ProjectStage::ProjectStage;
  Status Parse(const StageContext& context);
  bson::View document() const override { return exclusion_.view(); }
  void Explain(bson::Builder* out) const override { out->Append("$project", exclusion_); }

 private:
  bson::Document exclusion_;
};

class AddFieldsStage : public Stage {
 public:
  using Stage::Stage;
  Status Parse(const StageContext& context);
  Result<OperatorPtr> Build(OpContext& op, OperatorPtr input,
                            PipelineEnvironment& env) const override;
  bool AddDependencies(std::set<std::string>* fields) const override;
  void Explain(bson::Builder* out) const override;
  const expr::AddFields& fields() const { return *fields_; }

 private:
  std::unique_ptr<expr::AddFields> fields_;
};

// Whether one of the operators stands somewhere in the filter.
bool FilterUses(bson::View filter, const std::vector<std::string_view>& operators);

// Adds the top-level fields a filter reads; false when it may read any ($expr, $where, $text...).
bool AddFilterFields(bson::View filter, std::set<std::string>* fields);

}  // namespace quire::plan
