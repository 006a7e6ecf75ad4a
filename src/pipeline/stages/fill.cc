// SPDX-License-Identifier: Apache-2.0
//
// $fill, which becomes other stages.
#include "expr/projection/fill.h"

#include "pipeline/desugar.h"
#include "pipeline/stages/parsing.h"

namespace quire::pipeline {

Result<Stages> ParseFill(const bson::Element& spec, const StageContext& context) {
  ASSIGN_OR_RETURN(bson::Document meant, expr::StagesOfFill(spec.value()));
  return ParseDesugared(meant, context);
}

}  // namespace quire::pipeline
