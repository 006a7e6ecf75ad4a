// SPDX-License-Identifier: Apache-2.0
//
// Pipelines as explain shows them.
#pragma once

#include <vector>

#include "exec/operator.h"
#include "pipeline/stage.h"

namespace quire::pipeline {

// Appends each stage as explain shows it to the innermost open array of `out`; with what its
// operator did when `built` is not empty.
void ExplainStages(const Stages& stages, const std::vector<const exec::Operator*>& built,
                   bson::Builder* out);
// The fields of a stage that tell about its run.
void ExplainRun(const exec::Counters& counters, bson::Builder* out);

}  // namespace quire::pipeline
