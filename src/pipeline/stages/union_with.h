// SPDX-License-Identifier: Apache-2.0
//
// $unionWith.
#pragma once

#include <vector>

#include "pipeline/stage.h"

namespace quire::pipeline {

class UnionWithStage : public StageOf<StageKind::kUnionWith> {
 public:
  using StageOf::StageOf;
  Status Parse(const StageContext& context);
  void Explain(bson::Builder* out) const override;
  Spread spread() const override { return Spread::kOnce; }
  void AddNamespaces(std::vector<Namespace>* namespaces) const override {
    if (!ns_.collection.empty()) {
      namespaces->push_back(ns_);
    }
  }

  // The other collection; without a name when its pipeline begins with $documents.
  const Namespace& ns() const { return ns_; }
  bson::View pipeline() const { return pipeline_; }
  const PipelineOptions& pipeline_options() const { return options_; }

 private:
  Status ParseFields(const StageContext& context);

  Namespace ns_;
  bson::Document pipeline_;
  PipelineOptions options_;
};

}  // namespace quire::pipeline
