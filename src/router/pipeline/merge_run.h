// SPDX-License-Identifier: Apache-2.0
//
// The part of a pipeline that runs in the router, over the rows of shards. Where a row is on its
// way the tree of operators is left and asked again. Stages that read other collections wait for
// them where they stand, and are run by workers, a batch at a time.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "expr/context.h"
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
  bool partials = false;                     // the first stage, a $group, merges partial states
  std::shared_ptr<const js::Scope> scripts;  // of a command's own pipeline; null: it is a client's
  bson::Date began;                          // $$NOW
  std::optional<bson::Timestamp> cluster_time;
  std::optional<bson::Timestamp> snapshot_time;  // what else it reads is as of then
  bool allow_disk_use = true;
  size_t memory_limit = size_t{100} << 20;
};

// Parses and builds; nothing is read yet. `core` outlives it. `input` null: the pipeline begins
// with a source of its own ($documents).
Result<std::unique_ptr<run::RowSource>> OpenMergeRun(Core* core, MergeRunOptions options,
                                                     std::unique_ptr<RemoteRows> input);

}  // namespace quire::router
