// SPDX-License-Identifier: Apache-2.0
#include "plan/stages/lower_stages.h"

#include "base/try.h"
#include "exec/timed.h"
#include "plan/stages/lower_stage.h"

namespace quire::plan {

namespace {

using pipeline::As;
using pipeline::StageKind;

Result<OperatorPtr> LowerStage(OpContext& op, const pipeline::Stage& stage, OperatorPtr input,
                               PipelineEnvironment& env) {
  if (!pipeline::OpensOthers(stage.kind())) {
    pipeline::BuildOptions options;
    options.allow_disk_use = env.allow_disk_use();
    return static_cast<const pipeline::OperatorStage&>(stage).Build(op, std::move(input), options);
  }
  switch (stage.kind()) {
    case StageKind::kFacet:
      return LowerFacet(*As<pipeline::FacetStage>(&stage), std::move(input), env);
    case StageKind::kGraphLookup:
      return LowerGraphLookup(*As<pipeline::GraphLookupStage>(&stage), std::move(input), env);
    case StageKind::kLookup:
      return LowerLookup(*As<pipeline::LookupStage>(&stage), std::move(input), env);
    case StageKind::kRankFusion:
      return LowerRankFusion(*As<pipeline::RankFusionStage>(&stage), std::move(input), env);
    case StageKind::kSink:
      return LowerSink(op, *As<pipeline::SinkStage>(&stage), std::move(input), env);
    case StageKind::kUnionWith:
      return LowerUnionWith(*As<pipeline::UnionWithStage>(&stage), std::move(input), env);
    default:  // kSource
      return env.OpenSource(op, stage.name(), stage.spec());
  }
}

}  // namespace

Result<OperatorPtr> LowerStages(OpContext& op, const pipeline::Stages& stages, OperatorPtr input,
                                PipelineEnvironment& env,
                                std::vector<const exec::Operator*>* built) {
  for (const pipeline::StagePtr& stage : stages) {
    ASSIGN_OR_RETURN(input, LowerStage(op, *stage, std::move(input), env));
    if (built != nullptr) {
      input = std::make_unique<exec::Timed>(std::move(input));
      built->push_back(input.get());
    }
  }
  return input;
}

}  // namespace quire::plan
