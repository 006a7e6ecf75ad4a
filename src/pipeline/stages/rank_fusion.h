// SPDX-License-Identifier: Apache-2.0
//
// $rankFusion: the stages of its first pipeline, and a stage that reads the others and ranks.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "expr/sort/sort_key.h"
#include "pipeline/stage.h"

namespace quire::pipeline {

class RankFusionStage : public StageOf<StageKind::kRankFusion> {
 public:
  struct Input {
    bson::Document pipeline;
    double weight = 1;
    bson::Document sort;  // the last of its $sort stages; empty: it begins with a ranked one
    expr::SortPattern order;
  };

  using StageOf::StageOf;
  // The stages of the first pipeline go to `first`.
  Status Parse(const StageContext& context, Stages* first);
  Spread spread() const override { return Spread::kOnce; }
  void AddNamespaces(std::vector<Namespace>* namespaces) const override {
    if (inputs_.size() > 1) {
      namespaces->push_back(options_.ns);
    }
  }

  // By name. The first is the stage's input.
  const std::map<std::string, Input, std::less<>>& inputs() const { return inputs_; }
  // Whether rows carry the details of their score.
  bool details() const { return details_; }
  // Of all pipelines but the first.
  const PipelineOptions& pipeline_options() const { return options_; }

 private:
  Status ParseInput(const bson::Element& field, const StageContext& context);
  Status ParseWeights(bson::View combination);

  std::map<std::string, Input, std::less<>> inputs_;
  bool details_ = false;
  PipelineOptions options_;
};

}  // namespace quire::pipeline
