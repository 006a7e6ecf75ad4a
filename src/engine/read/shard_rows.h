// SPDX-License-Identifier: Apache-2.0
//
// Rows as a shard sends them to whoever merges them: {d: document, k: the bytes they are sorted by,
// m: what is known of them beside}.
#pragma once

#include <cstdint>
#include <memory>

#include "exec/operator.h"
#include "quire/bson.h"
#include "quire/status.h"
#include "run/cursor.h"

namespace quire::engine {

// What a router's find or aggregate asks of its rows; its command has it beside the versions.
struct ShardRowsWish {
  bool given = false;     // shardRows or partialGroup
  bool rows = false;      // shardRows.keys: rows are sent as above
  bool metadata = false;  // shardRows.meta: they have m
  bool partials = false;  // partialGroup: the last stage, a $group, gives partial states
  // shardRows.bytes: of a batch, unless one row alone is larger; 0: of a reply
  size_t most_bytes = 0;

  // Error: BadValue.
  static Result<ShardRowsWish> Read(bson::View command);
};

// The rows of `source`, sent so.
std::unique_ptr<run::RowSource> MakeShardRows(std::unique_ptr<run::RowSource> source,
                                              bool metadata);

// The other side: a row out of what was sent. Its views are those of `sent`. Error: what was sent
// is no such row.
Status ReadShardRow(bson::View sent, exec::Row* row);

}  // namespace quire::engine
