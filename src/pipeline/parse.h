// SPDX-License-Identifier: Apache-2.0
//
// From the array of a request to stages.
#pragma once

#include "pipeline/stage.h"

namespace quire::pipeline {

// Parses the array of stages. Errors: 40323, 40324, 40602, those of the stages. `context` outlives
// the stages.
Result<Stages> ParsePipeline(bson::View pipeline, const PipelineOptions& options,
                             const expr::Context* context);

}  // namespace quire::pipeline
