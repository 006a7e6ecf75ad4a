// SPDX-License-Identifier: Apache-2.0
#include "exec/combine/facet.h"

#include "plan/stages/lower_stage.h"
#include "plan/stages/lower_stages.h"

namespace quire::plan {

Result<OperatorPtr> LowerFacet(const pipeline::FacetStage& stage, OperatorPtr input,
                               PipelineEnvironment& env) {
  std::vector<exec::FacetBranch> branches;
  for (const pipeline::FacetStage::Branch& branch : stage.branches()) {
    branches.push_back({branch.name, [&branch, &env](OpContext& op, OperatorPtr source) {
                          return LowerStages(op, branch.stages, std::move(source), env);
                        }});
  }
  return OperatorPtr(
      std::make_unique<exec::Facet>(std::move(input), std::move(branches), env.allow_disk_use()));
}

}  // namespace quire::plan
