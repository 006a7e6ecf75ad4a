// SPDX-License-Identifier: Apache-2.0
//
// $facet: several pipelines over the same rows.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "pipeline/stage.h"

namespace quire::pipeline {

class FacetStage : public StageOf<StageKind::kFacet> {
 public:
  struct Branch {
    std::string name;
    Stages stages;
  };

  using StageOf::StageOf;
  Status Parse(const StageContext& context);
  void Explain(bson::Builder* out) const override;
  bool AddDependencies(std::set<std::string>* fields) const override;
  bool Narrows() const override { return true; }
  Spread spread() const override { return Spread::kOnce; }
  void AddNamespaces(std::vector<Namespace>* namespaces) const override;

  const std::vector<Branch>& branches() const { return branches_; }

 private:
  Status ParseBranch(const bson::Element& field, const StageContext& context);

  std::vector<Branch> branches_;
};

}  // namespace quire::pipeline
