// SPDX-License-Identifier: Apache-2.0
#include "pipeline/desugar.h"

#include "base/try.h"
#include "pipeline/stage_table.h"

namespace quire::pipeline {

Result<Stages> ParseDesugared(const bson::Document& pipeline, const StageContext& context) {
  Stages stages;
  for (const bson::Element& element : pipeline.view()) {
    bson::Element spec = element.value().AsDocument().front();
    ASSIGN_OR_RETURN(Stages parsed, FindStage(spec.name())->parse(spec, context));
    for (StagePtr& stage : parsed) {
      stages.push_back(std::move(stage));
    }
  }
  return stages;
}

}  // namespace quire::pipeline
