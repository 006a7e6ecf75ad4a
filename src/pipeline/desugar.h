// SPDX-License-Identifier: Apache-2.0
//
// Stages that are written as other stages ($bucket, $sortByCount, $fill).
#pragma once

#include "pipeline/stage.h"

namespace quire::pipeline {

// The stages of `pipeline`, an array written by this code itself.
Result<Stages> ParseDesugared(const bson::Document& pipeline, const StageContext& context);

}  // namespace quire::pipeline
