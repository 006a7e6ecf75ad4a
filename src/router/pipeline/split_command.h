// SPDX-License-Identifier: Apache-2.0
//
// An aggregate command divided between the shards and the router. No I/O.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "pipeline/stage.h"
#include "quire/bson.h"
#include "quire/status.h"

namespace quire::router {

struct DividedPipeline {
  std::vector<bson::Document> shards;  // what each shard runs
  std::vector<bson::Document> merger;  // what runs once, over the rows of all
};

// The first stage that must see the rows of all shards begins the merger. A $sort and a $limit run
// on the shards, too, so that they send no more than is wanted; $geoNear runs there, and its rows
// are sorted by their distance again. A stage that reads another collection runs in the merger.
// REQUIRES: parsed, and not rewritten.
DividedPipeline Divide(const pipeline::Stages& stages);

}  // namespace quire::router
