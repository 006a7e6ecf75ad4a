// SPDX-License-Identifier: Apache-2.0
#include "pipeline/split.h"

#include <algorithm>

namespace quire::pipeline {

size_t SplitPoint(const Stages& stages) {
  auto merges = std::find_if(stages.begin(), stages.end(), [](const StagePtr& stage) {
    return stage->spread() != Spread::kEach;
  });
  return static_cast<size_t>(merges - stages.begin());
}

}  // namespace quire::pipeline
