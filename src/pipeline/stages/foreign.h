// SPDX-License-Identifier: Apache-2.0
//
// What the stages that name another collection share.
#pragma once

#include <string_view>

#include "auth/needs.h"
#include "pipeline/stage.h"

namespace quire::pipeline {

// A collection's name as stages write it: "c" in the pipeline's database, or {db, coll}. Errors
// InvalidNamespace, 40415, FailedToParse.
Result<Namespace> ParseFrom(const bson::Value& from, std::string_view stage,
                            const Namespace& current);

// States what a stage needs that runs `pipeline` (missing: none) on the collection `from` (missing
// or null: none) of another name than its own.
Status AddInnerNeeds(const bson::Value& from, const bson::Value& pipeline, std::string_view stage,
                     const PipelineOptions& options, auth::Needs* needs);

// Whether the pipeline begins with $documents, and so needs no collection.
bool StartsWithDocuments(const bson::Value& pipeline);

}  // namespace quire::pipeline
