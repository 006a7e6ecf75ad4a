// SPDX-License-Identifier: Apache-2.0
//
// What a login must be allowed to do for a pipeline to run.
#pragma once

#include "auth/needs.h"
#include "pipeline/stage.h"

namespace quire::pipeline {

// Adds what running the pipeline needs, sub-pipelines included: a find on each collection it reads,
// the writes of its last stage, and what stages about the server itself ask for. Only names are
// read, no value is evaluated: the answer holds whatever the pipeline's variables will be. Errors:
// those of ParsePipeline about the form of stages and the names of collections.
Status AddPipelineNeeds(bson::View pipeline, const PipelineOptions& options, auth::Needs* needs);

}  // namespace quire::pipeline
