// SPDX-License-Identifier: Apache-2.0
#include "router/rows.h"

#include <algorithm>
#include <array>

#include "router/admin/rows.h"

namespace quire::router {

namespace {

// A node's commands that a router does not have, or has in another way.
bool IsLeftOut(std::string_view name) {
  static constexpr std::array<std::string_view, 15> kLeftOut = {"applyOps",
                                                                "autoCompact",
                                                                "compact",
                                                                "reIndex",
                                                                "cloneCollectionAsCapped",
                                                                "top",
                                                                "_isSelf",
                                                                "lockInfo",
                                                                "_mergeAuthzCollections",
                                                                "cleanupOrphaned",
                                                                "appendOplogNote",
                                                                "moveChunk",
                                                                "mergeChunks",
                                                                "splitChunk",
                                                                "shardingState"};
  return name.starts_with("replSet") ||
         std::find(kLeftOut.begin(), kLeftOut.end(), name) != kLeftOut.end();
}

}  // namespace

std::vector<const command::Row*> Rows() {
  std::vector<const command::Row*> rows = command::NodeRows();
  std::erase_if(rows, [](const command::Row* row) { return IsLeftOut(row->info.name); });
  for (std::span<const command::Row> family :
       {ShardRows(), RemoveShardRows(), ZoneRows(), BalancerRows(), PlacementRows(),
        ConsistencyRows()}) {
    for (const command::Row& row : family) {
      rows.push_back(&row);
    }
  }
  return rows;
}

Routine FindRoutine(const request::CommandInfo& info) {
  for (std::span<const RoutineRow> family :
       {ForwardRoutines(), SessionRoutines(), SchemaRoutines(), ShardRoutines(),
        RemoveShardRoutines(), ZoneRoutines(), BalancerRoutines(), PlacementRoutines(),
        ConsistencyRoutines(), ClusterRoutines(), ReadRoutines(), WriteRoutines(),
        FindAndModifyRoutines(), AggregateRoutines(), ExplainRoutines(), MapReduceRoutines(),
        BulkWriteRoutines(), StatisticsRoutines()}) {
    for (const RoutineRow& row : family) {
      if (row.name == info.name) {
        return row.routine;
      }
    }
  }
  return nullptr;
}

}  // namespace quire::router
