// SPDX-License-Identifier: Apache-2.0
//
// What reads of several shards share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "router/remote/ask.h"
#include "router/routed.h"

namespace quire::router {

struct MergeOptions {
  std::string ns;
  std::vector<bool> sort;  // which parts of the rows' sort keys ascend; empty: as they come
  int64_t skip = 0;
  int64_t limit = 0;
  std::optional<int64_t> batch_size;
  bool single_batch = false;
};

// Ends the request with a cursor over the cursors that shards have opened.
Status OpenMerged(Routed& request, std::vector<Heard> heard, const MergeOptions& merge);
// Closes them: the request is not going to read them.
void KillOpened(Routed& request, const std::vector<Heard>& heard);

}  // namespace quire::router
