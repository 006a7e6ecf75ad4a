// SPDX-License-Identifier: Apache-2.0
//
// Pipelines inside stages.
#pragma once

#include "pipeline/stage.h"
#include "plan/pipeline_environment.h"

namespace quire::plan {

// Runs `stages` (an array), after the documents `filter` (empty: all) accepts, on `ns`. `context`
// outlives the operator.
Result<OperatorPtr> OpenSubPipeline(OpContext& op, PipelineEnvironment& env,
                                    const pipeline::Namespace& ns, bson::View filter,
                                    bson::View stages, const pipeline::PipelineOptions& options,
                                    const expr::Context& context);

}  // namespace quire::plan
