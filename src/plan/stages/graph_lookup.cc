// SPDX-License-Identifier: Apache-2.0
#include "exec/join/graph_lookup.h"

#include "plan/stages/lower_stage.h"
#include "plan/stages/sub_pipeline.h"

namespace quire::plan {

Result<OperatorPtr> LowerGraphLookup(const pipeline::GraphLookupStage& stage, OperatorPtr input,
                                     PipelineEnvironment& env) {
  auto inner = [&stage, &env](OpContext& op, bson::View frontier) -> Result<OperatorPtr> {
    bson::Builder filter;
    filter.BeginArray("$and").Push(frontier);
    if (!stage.restriction().empty()) {
      filter.Push(stage.restriction());
    }
    filter.End();
    const bson::Document both = filter.Finish();
    return OpenSubPipeline(op, env, stage.ns(), both, bson::View(), stage.pipeline_options(),
                           *stage.context());
  };
  return OperatorPtr(std::make_unique<exec::GraphLookup>(std::move(input), stage.options(),
                                                         std::move(inner), stage.context()));
}

}  // namespace quire::plan
