// SPDX-License-Identifier: Apache-2.0
//
// The commands of a router: which there are, and what runs each.
#pragma once

#include <span>
#include <vector>

#include "command/command.h"
#include "router/routed.h"

namespace quire::router {

// The rows of a node that a router has, and its own.
std::vector<const command::Row*> Rows();
// What runs the command on shards; null: the router itself does.
Routine FindRoutine(const request::CommandInfo& info);

// The routines of each family, in the files of those names.
std::span<const RoutineRow> ForwardRoutines();
std::span<const RoutineRow> SessionRoutines();
std::span<const RoutineRow> SchemaRoutines();
std::span<const RoutineRow> ClusterRoutines();
std::span<const RoutineRow> ReadRoutines();
std::span<const RoutineRow> WriteRoutines();
std::span<const RoutineRow> FindAndModifyRoutines();
std::span<const RoutineRow> AggregateRoutines();
std::span<const RoutineRow> ExplainRoutines();
std::span<const RoutineRow> MapReduceRoutines();
std::span<const RoutineRow> BulkWriteRoutines();
std::span<const RoutineRow> StatisticsRoutines();

}  // namespace quire::router
