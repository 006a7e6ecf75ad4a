// SPDX-License-Identifier: Apache-2.0
//
// The stages that the engine answers.
#pragma once

#include "pipeline/stage.h"

namespace quire::pipeline {

// A stage that begins a pipeline with rows that only the engine has: $indexStats, $collStats,
// $currentOp, $changeStream... Its name says which, its argument is checked.
class SourceStage : public StageOf<StageKind::kSource> {
 public:
  using StageOf::StageOf;
  Status Parse(const StageContext& context);
  Spread spread() const override;
};

}  // namespace quire::pipeline
