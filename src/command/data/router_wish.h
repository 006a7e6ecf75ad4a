// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "command/command.h"
#include "engine/read/shard_rows.h"

namespace quire::command {

// How a router wants the rows of the command's cursor. UnknownField when it comes from no router.
Result<engine::ShardRowsWish> RouterWish(const Invocation& invocation);

}  // namespace quire::command
