// SPDX-License-Identifier: Apache-2.0
//
// The commands that only a router has.
#pragma once

#include <span>

#include "command/command.h"
#include "router/routed.h"

namespace quire::router {

std::span<const command::Row> ShardRows();  // addShard, listShards, getShardMap...
std::span<const command::Row> RemoveShardRows();
std::span<const command::Row> ZoneRows();      // zones
std::span<const command::Row> BalancerRows();  // balancer and its settings
std::span<const command::Row> ConsistencyRows();
std::span<const command::Row> PlacementRows();  // shardCollection, split, moveChunk...

std::span<const RoutineRow> ShardRoutines();
std::span<const RoutineRow> RemoveShardRoutines();
std::span<const RoutineRow> ZoneRoutines();
std::span<const RoutineRow> BalancerRoutines();
std::span<const RoutineRow> ConsistencyRoutines();
std::span<const RoutineRow> PlacementRoutines();

}  // namespace quire::router
