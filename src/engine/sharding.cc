// SPDX-License-Identifier: Apache-2.0
#include "engine/sharding.h"

#include <algorithm>

namespace quire::engine {

bool OwnedPlacement::Owns(const placement::ShardKey& key) const {
  auto after = std::upper_bound(
      owned.begin(), owned.end(), key,
      [](const placement::ShardKey& k, const placement::KeyRange& range) { return k < range.min; });
  if (after == owned.begin()) {
    return false;
  }
  const placement::KeyRange& range = *std::prev(after);
  return key < range.max || key == pattern.Highest();
}

}  // namespace quire::engine
