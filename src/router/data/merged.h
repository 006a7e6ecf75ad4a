// SPDX-License-Identifier: Apache-2.0
//
// The cursors of several shards as one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "router/cursor/remote_rows.h"
#include "router/remote/ask.h"
#include "router/routed.h"
#include "run/cursor.h"

namespace quire::router {

struct MergeOptions {
  std::string ns;
  bool sorted = false;  // rows come wrapped, with the keys they are sorted by
  int64_t skip = 0;
  int64_t limit = 0;
  std::optional<int64_t> batch_size;
  bool single_batch = false;
  bool no_timeout = false;      // of the router's cursor: it keeps those of the shards
  bool allows_partial = false;  // shards that cannot be asked are left out
  bool partial = false;         // some are
};

// Ends the request with a cursor over the cursors that shards have opened.
Status OpenMerged(Routed& request, std::vector<Heard> heard, const MergeOptions& merge);
// What the shards have opened. Notes their times. REQUIRES: all of them have.
std::vector<OpenedCursor> TakeOpened(Routed& request, std::vector<Heard> heard);
// Closes them: the request is not going to read them.
void KillOpened(Routed& request, const std::vector<Heard>& heard);

// The next row of a cursor that nobody else has; waits while it is on its way. The row is valid
// until the next call.
Task<Result<bool>> NextRow(Routed& request, run::Cursor& cursor, exec::Row* row);

}  // namespace quire::router
