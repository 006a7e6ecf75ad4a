// SPDX-License-Identifier: Apache-2.0
#include "exec/combine/union_with.h"

#include "plan/stages/lower_stage.h"
#include "plan/stages/sub_pipeline.h"

namespace quire::plan {

Result<OperatorPtr> LowerUnionWith(const pipeline::UnionWithStage& stage, OperatorPtr input,
                                   PipelineEnvironment& env) {
  auto open = [&stage, &env](OpContext& op) {
    return OpenSubPipeline(op, env, stage.ns(), bson::View(), stage.pipeline(),
                           stage.pipeline_options(), *stage.context());
  };
  return OperatorPtr(std::make_unique<exec::UnionWith>(std::move(input), std::move(open)));
}

}  // namespace quire::plan
