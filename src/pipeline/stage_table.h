// SPDX-License-Identifier: Apache-2.0
//
// The stages of the language, one row each.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "auth/needs.h"
#include "pipeline/stage.h"

namespace quire::pipeline {

enum StageFlags : uint32_t {
  kFirst = 1,           // must begin its pipeline and has no input
  kLast = 2,            // must end its pipeline
  kNotInFacet = 4,      // refused in $facet (40600)
  kNotInLookup = 8,     // refused in $lookup (51047)
  kNotInUnion = 16,     // refused in $unionWith (31441)
  kDatabase = 32,       // needs {aggregate: 1}
  kNotInView = 64,      // refused in a view's definition
  kAdmin = 128,         // needs the database admin
  kNoCollection = 256,  // may begin a pipeline of {aggregate: 1}
  kTopOnly = 512,       // refused in every sub-pipeline (InvalidNamespace)
  kInternal = 1024,     // unknown to users
  kInStream = 2048,     // may be part of a $changeStream pipeline
  kLeads = 4096,        // must begin its pipeline, and reads its collection
  kOptions = 8192,      // its argument is a list of named options, none of them twice (40413)
};

struct StageRow {
  std::string_view name;
  // One stage of the language may become several here.
  Result<Stages> (*parse)(const bson::Element& spec, const StageContext& context);
  // States what the stage does beside reading the pipeline's input; of a kFirst stage, which has
  // none, all that it does. Reads what it names by the same functions as `parse`.
  Status (*needs)(const bson::Element& spec, const PipelineOptions& options, auth::Needs* out);
  uint32_t flags;
  int not_first = 40602;  // the error of a kFirst or kLeads stage behind another
  int wrong_place = 73;   // the error of a kDatabase stage on a collection: InvalidNamespace
};

// Null when there is no such stage.
const StageRow* FindStage(std::string_view name);
std::span<const StageRow> AllStages();

// The row of one element of a pipeline's array. Errors: TypeMismatch, 40323, 40324 (of kInternal
// stages too, unless `internal`), 40413.
Result<const StageRow*> RowOf(const bson::Element& element, bool internal);

// Error 232 for a pipeline that stands within too many others.
Status CheckDepth(const PipelineOptions& options);

}  // namespace quire::pipeline
