// SPDX-License-Identifier: Apache-2.0
//
// The operators of the stages that open something beside their input. `stage` and `env` outlive
// them.
#pragma once

#include "pipeline/stages/facet.h"
#include "pipeline/stages/graph_lookup.h"
#include "pipeline/stages/lookup.h"
#include "pipeline/stages/rank_fusion.h"
#include "pipeline/stages/sink.h"
#include "pipeline/stages/union_with.h"
#include "plan/pipeline_environment.h"

namespace quire::plan {

Result<OperatorPtr> LowerFacet(const pipeline::FacetStage& stage, OperatorPtr input,
                               PipelineEnvironment& env);
Result<OperatorPtr> LowerGraphLookup(const pipeline::GraphLookupStage& stage, OperatorPtr input,
                                     PipelineEnvironment& env);
Result<OperatorPtr> LowerLookup(const pipeline::LookupStage& stage, OperatorPtr input,
                                PipelineEnvironment& env);
Result<OperatorPtr> LowerRankFusion(const pipeline::RankFusionStage& stage, OperatorPtr input,
                                    PipelineEnvironment& env);
Result<OperatorPtr> LowerSink(OpContext& op, const pipeline::SinkStage& stage, OperatorPtr input,
                              PipelineEnvironment& env);
Result<OperatorPtr> LowerUnionWith(const pipeline::UnionWithStage& stage, OperatorPtr input,
                                   PipelineEnvironment& env);

}  // namespace quire::plan
