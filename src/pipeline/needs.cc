// SPDX-License-Identifier: Apache-2.0
#include "pipeline/needs.h"

#include "base/try.h"
#include "pipeline/stage_table.h"

namespace quire::pipeline {

Status AddPipelineNeeds(bson::View pipeline, const PipelineOptions& options, auth::Needs* needs) {
  RETURN_IF_ERROR(CheckDepth(options));
  // A branch of $facet reads what comes to it.
  bool reads_input = options.place != PipelinePlace::kFacet;
  bool first = true;
  for (const bson::Element& element : pipeline) {
    ASSIGN_OR_RETURN(const StageRow* row, RowOf(element, options.internal));
    reads_input = reads_input && !(first && (row->flags & kFirst));
    first = false;
    RETURN_IF_ERROR(row->needs(element.value().AsDocument().front(), options, needs));
  }
  if (reads_input) {
    needs->Add(auth::Action::find, auth::Collection(options.ns.database, options.ns.collection));
  }
  return Status::Ok();
}

}  // namespace quire::pipeline
