// SPDX-License-Identifier: Apache-2.0
//
// $graphLookup.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "exec/join/graph_lookup.h"
#include "expr/agg/expression.h"
#include "pipeline/stage.h"

namespace quire::pipeline {

class GraphLookupStage : public StageOf<StageKind::kGraphLookup> {
 public:
  using StageOf::StageOf;
  Status Parse(const StageContext& context);
  bool AddDependencies(std::set<std::string>* fields) const override {
    return start_with_->AddDependencies(fields);
  }
  Spread spread() const override { return Spread::kEach; }
  void AddNamespaces(std::vector<Namespace>* namespaces) const override {
    namespaces->push_back(ns_);
  }

  // The collection that is searched.
  const Namespace& ns() const { return ns_; }
  const exec::GraphLookupOptions& options() const { return options_; }
  // What the documents found must match, too; empty: nothing.
  bson::View restriction() const { return restrict_; }
  // Of the pipelines that find them.
  const PipelineOptions& pipeline_options() const { return pipeline_options_; }

 private:
  Status ParseField(const bson::Element& field, const StageContext& context);
  Status ParseMaxDepth(const bson::Value& value);

  Namespace ns_;
  std::unique_ptr<expr::agg::Expression> start_with_;
  exec::GraphLookupOptions options_;
  bson::Document restrict_;
  PipelineOptions pipeline_options_;
};

}  // namespace quire::pipeline
