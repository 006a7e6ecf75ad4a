// SPDX-License-Identifier: Apache-2.0
//
// How many shards the commands of clients went to.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

#include "quire/bson.h"

namespace quire::router {

// Safe for concurrent use.
class HostsTargeted {
 public:
  static bool IsCounted(std::string_view command);
  // REQUIRES: IsCounted(command). `owners`: the shards that have chunks of the collection; 0: it is
  // not sharded.
  void Count(std::string_view command, size_t asked, size_t owners);
  // {find: {allShards, manyShards, oneShard, unsharded}, insert: ...}
  bson::Document Report() const;

 private:
  static constexpr std::array<std::string_view, 5> kCommands = {"find", "insert", "update",
                                                                "delete", "aggregate"};
  static constexpr std::array<std::string_view, 4> kReaches = {"allShards", "manyShards",
                                                               "oneShard", "unsharded"};
  enum Reach : size_t { kAllShards, kManyShards, kOneShard, kUnsharded };

  std::array<std::array<std::atomic<int64_t>, kReaches.size()>, kCommands.size()> counts_{};
};

}  // namespace quire::router
