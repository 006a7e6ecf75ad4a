// SPDX-License-Identifier: Apache-2.0
//
// Where a pipeline is divided between the shards that hold its collection and the place that merges
// what they give.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "pipeline/stage.h"
#include "quire/bson.h"

namespace quire::pipeline {

// Whether everything a stage reads of another collection lies where its input does.
using IsLocal = std::function<bool(const Namespace&)>;

// The first stage that cannot run on each shard alone; the number of stages when all can. What
// comes before it runs on each shard. The stage itself runs on each shard, too, and is merged when
// its spread is kMerged. Everything behind it runs once. A stage that reads a collection which is
// not local runs once, whatever its spread.
size_t SplitPoint(const Stages& stages, const IsLocal& is_local = {});

// How the rows of the shards become one stream.
enum class Joined {
  kAsTheyCome,
  kBySortKey,  // each row carries the bytes it is sorted by
  kByTime,     // events of change streams
  kPartials,   // the last stage of the shards gives states that the merger's first one merges
};

struct SplitPipeline {
  // What is sent to each shard, and what runs once: stages as a pipeline's array holds them.
  std::vector<bson::Document> shards;
  std::vector<bson::Document> merger;
  Joined joined = Joined::kAsTheyCome;
  // The same as explain shows them. A $merge that each shard could do is shown there, though it
  // runs once: whoever routes the writes does them.
  std::vector<bson::Document> shards_shown;
  std::vector<bson::Document> merger_shown;
};

// Divides the pipeline, so that the shards send no more than the merger needs:
// - limits reach the shards, with what the merger skips added;
// - stages behind a $sort that leave its fields alone go to the shards, too;
// - an $unwind at the shards' end goes to the merger;
// - where the merger reads only some fields, the shards send only those.
//
// REQUIRES: rewritten, but for "fuse-lookups", whose stages cannot be sent.
SplitPipeline Split(const Stages& stages, const IsLocal& is_local = {});

}  // namespace quire::pipeline
