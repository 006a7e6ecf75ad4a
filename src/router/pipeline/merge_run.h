// SPDX-License-Identifier: Apache-2.0
//
// The part of a pipeline that runs in the router, over the rows of shards. It is run by workers, a
// batch at a time: its stages may read other collections, and wait for them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "pipeline/stage.h"
#include "quire/bson.h"
#include "quire/status.h"
#include "router/cursor/remote_rows.h"
#include "run/cursor.h"

namespace quire::router {

class Core;

struct MergeRunOptions {
  pipeline::Namespace ns;
  bson::Document pipeline;  // the merger's stages, an array
  bson::Document collation;
  bson::Document let;
  bool allow_disk_use = true;
  size_t memory_limit = size_t{100} << 20;
};

// Parses and builds; nothing is read yet. `core` outlives it. `input` null: the pipeline begins
// with a source of its own ($documents).
Result<std::unique_ptr<run::RowSource>> OpenMergeRun(Core* core, MergeRunOptions options,
                                                     std::unique_ptr<RemoteRows> input);

}  // namespace quire::router
