// SPDX-License-Identifier: Apache-2.0
//
// $lookup, into which rewrites put the $unwind and the filters of what it joins.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "exec/nested_field.h"
#include "exec/unwind.h"
#include "expr/agg/expression.h"
#include "pipeline/stage.h"

namespace quire::pipeline {

class LookupStage : public StageOf<StageKind::kLookup> {
 public:
  struct Variable {
    std::string name;
    std::unique_ptr<expr::agg::Expression> value;
  };

  using StageOf::StageOf;
  Status Parse(const StageContext& context);
  bool AddDependencies(std::set<std::string>* fields) const override;
  bool LetsFilterPass(const std::set<std::string>& fields) const override {
    return fields.count(as_[0]) == 0;
  }
  Spread spread() const override { return Spread::kEach; }
  void AddNamespaces(std::vector<Namespace>* namespaces) const override;
  void Explain(bson::Builder* out) const override;

  // The collection it reads; without a name when its pipeline begins with $documents.
  const Namespace& ns() const { return ns_; }
  const exec::FieldPath& as() const { return as_; }
  // Whether documents are joined whose `foreign_field` is equal to a value of `local_field`.
  bool joins_fields() const { return !local_.empty(); }
  const exec::FieldPath& local_field() const { return local_; }
  const std::string& foreign_field() const { return foreign_; }
  // What the joined documents go through, and the variables it may read.
  bool has_pipeline() const { return has_pipeline_; }
  bson::View pipeline() const { return pipeline_; }
  const PipelineOptions& pipeline_options() const { return options_; }
  const std::vector<Variable>& variables() const { return variables_; }
  // Without a pipeline: what the joined documents match, too; empty: nothing.
  bson::View inner_filter() const { return inner_filter_; }
  const std::optional<exec::UnwindOptions>& unwind() const { return unwind_; }

  // From now on the stage gives a row per joined document, as that $unwind of `as` would.
  void TakeUnwind(const exec::UnwindOptions& unwind) { unwind_ = unwind; }
  // From now on only documents that `filter` accepts are joined.
  void TakeFilter(bson::View filter);
  // The condition on the field `as` as a filter on the joined documents; nothing when there is
  // none. Holds once the stage gives a row per joined document.
  std::optional<bson::Document> FilterOnJoined(bson::View condition) const;

 private:
  Status ParseField(const bson::Element& field);
  Status ParseLet(bson::View let);
  Status CheckFields(const StageContext& context);
  Status CheckPipeline();
  // The context with null for the variables, whose values are only known per document.
  expr::Context WithStandIns() const;

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
  bson::Document inner_filter_;
};

// Binds the variables to the values of their places, instead of outer ones of the same names.
void BindVariables(const std::vector<LookupStage::Variable>& variables,
                   const std::vector<bson::OwnedValue>& values, expr::Context* context);

}  // namespace quire::pipeline
