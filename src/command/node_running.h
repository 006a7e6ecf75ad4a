// SPDX-License-Identifier: Apache-2.0
//
// The state of a request on a node.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "command/command.h"
#include "command/parsed_row.h"
#include "engine/engine.h"
#include "run/running.h"

namespace quire::command {

// A request and its way through the engine.
struct NodeRunning : run::Running {
  NodeRunning(const run::Arrival& arrival, Commands& commands)
      : Running(arrival),
        operation{commands.engine(), op},
        invocation{commands, commands.engine(), operation, call} {}

  engine::Operation operation;
  Invocation invocation;
  std::unique_ptr<Parsed> parsed;  // the request of a ParsedRow
  std::vector<int32_t> statement_ids;
  // Of the log when a primary let it pass; none: it was not asked to write.
  std::optional<uint64_t> epoch;
};

}  // namespace quire::command
