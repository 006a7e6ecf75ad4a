// SPDX-License-Identifier: Apache-2.0
//
// $lookup, into which rewrites put the $unwind and the filters of what it joins.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "exec/nested_field.h"
#include "exec/unwind.h"
#include "expr/agg/expression.h"
#include "plan/stage.h"

namespace quire::plan {

class LookupStage : public Stage {
 public:
  using Stage::Stage;
  Status Parse(const StageContext& context);
  Result<OperatorPtr> Build(OpContext&, OperatorPtr input, PipelineEnvironment& env) const override;
  bool AddDependencies(std::set<std::string>* fields) const override;
  void AddNamespaces(std::vector<Namespace>* namespaces) const override;
  void Explain(bson::Builder* out) const override;

  const exec::FieldPath& as() const { return as_; }
  // From now on the stage gives a row per joined document, as that $unwind of `as` would.
  void TakeUnwind(const exec::UnwindOptions& unwind) { unwind_ = unwind; }
  // From now on only documents that `filter` accepts are joined.
  void TakeFilter(bson::View filter);

 private:
  friend class LookupRun;
  struct Variable {
    std::string name;
    std::unique_ptr<expr::agg::Expression> value;
  };
  Status ParseField(const bson::Element& field);
  Status ParseLet(bson::View let);
  Status CheckFields(const StageContext& context);
  Status CheckPipeline(const StageContext& context);
  bool joins_fields() const { return !local_.empty(); }

  bson::Value from_;
  bson::Value let_;
  bson::Value pipeline_value_;
  std::optional<std::string> local_field_;
  std::optional<std::string> foreign_field_;
  std::optional<std::string> as_field_;

  Namespace ns_;
  exec::FieldPath local_;
  std::string foreign_;
  exec::FieldPath as_;
  bool has_pipeline_ = false;
  bson::Document pipeline_;
  std::vector<Variable> variables_;
  PipelineOptions options_;
  std::optional<exec::UnwindOptions> unwind_;
  bson::Document inner_filter_;  // on the joined documents; empty: none
};

}  // namespace quire::plan
