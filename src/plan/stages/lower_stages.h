// SPDX-License-Identifier: Apache-2.0
//
// From the stages of a pipeline to the operators of one run.
#pragma once

#include <vector>

#include "pipeline/stage.h"
#include "plan/pipeline_environment.h"

namespace quire::plan {

// The operators of `stages` on top of `input` (null when StartsWithSource). `stages` and `env`
// outlive the result. `built`, when not null, receives the operator of each stage, which then
// measures its time too.
Result<OperatorPtr> LowerStages(OpContext& op, const pipeline::Stages& stages, OperatorPtr input,
                                PipelineEnvironment& env,
                                std::vector<const exec::Operator*>* built = nullptr);

}  // namespace quire::plan
