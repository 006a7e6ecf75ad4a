// SPDX-License-Identifier: Apache-2.0
#include "exec/combine/rank_fusion.h"

#include "plan/stages/lower_stage.h"
#include "plan/stages/sub_pipeline.h"

namespace quire::plan {

Result<OperatorPtr> LowerRankFusion(const pipeline::RankFusionStage& stage, OperatorPtr input,
                                    PipelineEnvironment& env) {
  exec::RankFusionOptions options;
  options.context = stage.context();
  options.details = stage.details();
  options.allow_disk = env.allow_disk_use();
  for (const auto& [name, ranked] : stage.inputs()) {
    exec::RankedSource source;
    source.name = name;
    source.weight = ranked.weight;
    source.order = ranked.sort.empty() ? nullptr : &ranked.order;
    if (!options.sources.empty()) {
      source.open = [&stage, &env, pipeline = ranked.pipeline.view()](OpContext& op) {
        return OpenSubPipeline(op, env, stage.pipeline_options().ns, bson::View(), pipeline,
                               stage.pipeline_options(), *stage.context());
      };
    }
    options.sources.push_back(std::move(source));
  }
  return OperatorPtr(std::make_unique<exec::RankFusion>(std::move(input), std::move(options)));
}

}  // namespace quire::plan
