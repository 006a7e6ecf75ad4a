// SPDX-License-Identifier: Apache-2.0
//
// $project and $addFields, which rewrites look into.
#pragma once

#include <memory>
#include <set>
#include <string>

#include "expr/projection/add_fields.h"
#include "expr/projection/projection.h"
#include "pipeline/stage.h"

namespace quire::pipeline {

class ProjectStage : public StageOf<StageKind::kProject> {
 public:
  using StageOf::StageOf;
  Status Parse(const StageContext& context);
  Result<OperatorPtr> Build(OpContext& op, OperatorPtr input,
                            const BuildOptions& build) const override;
  bool AddDependencies(std::set<std::string>* fields) const override;
  bool Narrows() const override;
  bool LetsFilterPass(const std::set<std::string>& fields) const override;
  bool LetsCutPass() const override { return true; }
  Spread spread() const override { return Spread::kEach; }

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

class AddFieldsStage : public StageOf<StageKind::kAddFields> {
 public:
  using StageOf::StageOf;
  Status Parse(const StageContext& context);
  Result<OperatorPtr> Build(OpContext& op, OperatorPtr input,
                            const BuildOptions& build) const override;
  bool AddDependencies(std::set<std::string>* fields) const override;
  void Explain(bson::Builder* out) const override;
  bool LetsFilterPass(const std::set<std::string>& fields) const override;
  bool LetsCutPass() const override { return true; }
  Spread spread() const override { return Spread::kEach; }

 private:
  std::unique_ptr<expr::AddFields> fields_;
};

}  // namespace quire::pipeline
