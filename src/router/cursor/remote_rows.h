// SPDX-License-Identifier: Apache-2.0
//
// The rows of cursors on shards as one stream: as they come, or merged by the sort keys that they
// carry. Batches are asked for when they are needed; whoever wants a row that is on its way is told
// so and woken when it is there.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "placement/chunk_map.h"
#include "quire/bson.h"
#include "router/cursor/live_cursors.h"
#include "router/remote/lanes.h"
#include "run/cursor.h"

namespace quire::router {

// A cursor that a shard has opened, with its first batch.
struct OpenedCursor {
  placement::ShardName shard;
  std::string host;
  bson::Document reply;
};

// Of the batches that several shards give at once, unless one row alone is larger.
inline constexpr int64_t kMergedBytes = int64_t{1} << 20;

struct RemoteRowsOptions {
  std::string database;
  std::string collection;  // as getMore names it
  // lsid, txnNumber...: what every getMore carries.
  bson::Document session;
  // Rows come as engine/read/shard_rows.h sends them.
  bool wrapped = false;
  // Merged by the keys that they carry, which needs `wrapped`. Of equal ones the shard that stands
  // first comes first.
  bool sorted = false;
  // The next batch is asked for when half of one has been taken, not when it is wanted. A statement
  // of a transaction must not meet it on the way.
  bool reads_ahead = false;
  bool allows_partial = false;  // shards that cannot be asked are left out
  // Of the whole stream.
  int64_t skip = 0;
  int64_t limit = 0;  // 0: none
  bool tailable = false;
  bool awaits = false;                // a tailable one waits for what comes
  std::optional<int64_t> batch_size;  // of getMores; none: what fits in a reply
  // Where the cursors are kept alive while the rows are wanted; it outlives them. Null: nowhere.
  LiveCursors* live = nullptr;
  // Rows that it says no to are left out. Empty: none is.
  std::function<bool(bson::View row)> shows;
};

// Ends the cursors on the shards when it is destroyed.
class RemoteRows final : public run::RowSource {
 public:
  // `lanes` outlives it.
  RemoteRows(Lanes* lanes, RemoteRowsOptions options, std::vector<OpenedCursor> cursors);
  ~RemoteRows() override;

  Result<bool> Next(OpContext& op, exec::Row* row) override;
  Status Refresh(OpContext& op) override;
  Bell* News() override;
  bool HasNews() const override;
  bool Pending() const override;
  void Rest() override;
  Status Check() const override { return Status::Ok(); }
  std::string PlanSummary() const override { return ""; }
  exec::Counters Totals() const override { return {}; }
  bson::Document ResumeToken() const override;
  bool Ended() const override;

 private:
  class State;
  std::shared_ptr<State> state_;
  const bool wrapped_;
  const std::function<bool(bson::View)> shows_;
  int64_t to_skip_;
  int64_t left_;  // of the limit; -1: there is none
};

}  // namespace quire::router
