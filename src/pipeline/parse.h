// SPDX-License-Identifier: Apache-2.0
//
// From the array of a request to stages.
#pragma once

#include "pipeline/stage.h"

namespace quire::pipeline {

// Parses the array of stages. Errors: 40323, 40324, 40602, those of the stages, and when there is
// none of these, that of the first constant that cannot be computed. `context` outlives the stages.
Result<Stages> ParsePipeline(bson::View pipeline, const PipelineOptions& options,
                             const expr::Context* context);

}  // namespace quire::pipeline
