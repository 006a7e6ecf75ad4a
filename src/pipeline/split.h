// SPDX-License-Identifier: Apache-2.0
//
// Where a pipeline is divided between the shards that hold its collection and the place that merges
// what they give.
#pragma once

#include <cstddef>

#include "pipeline/stage.h"

namespace quire::pipeline {

// The first stage that cannot run on each shard alone; the number of stages when all can. What
// comes before it runs on each shard. The stage itself runs on each shard, too, and is merged when
// its spread is kMerged. Everything behind it runs once.
size_t SplitPoint(const Stages& stages);

}  // namespace quire::pipeline
