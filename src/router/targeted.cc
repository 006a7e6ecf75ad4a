// SPDX-License-Identifier: Apache-2.0
#include "router/targeted.h"

#include <algorithm>

namespace quire::router {

bool HostsTargeted::IsCounted(std::string_view command) {
  return std::find(kCommands.begin(), kCommands.end(), command) != kCommands.end();
}

void HostsTargeted::Count(std::string_view command, size_t asked, size_t owners) {
  const auto row = static_cast<size_t>(std::find(kCommands.begin(), kCommands.end(), command) -
                                       kCommands.begin());
  Reach reach = kManyShards;
  if (owners == 0) {
    reach = kUnsharded;
  } else if (asked == 1) {
    reach = kOneShard;
  } else if (asked >= owners) {
    reach = kAllShards;
  }
  counts_[row][reach].fetch_add(1, std::memory_order_relaxed);
}

bson::Document HostsTargeted::Report() const {
  bson::Builder out;
  for (size_t row = 0; row < kCommands.size(); ++row) {
    out.BeginDocument(kCommands[row]);
    for (size_t reach = 0; reach < kReaches.size(); ++reach) {
      out.Append(kReaches[reach], counts_[row][reach].load(std::memory_order_relaxed));
    }
    out.End();
  }
  return out.Finish();
}

}  // namespace quire::router
