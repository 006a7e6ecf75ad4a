// SPDX-License-Identifier: Apache-2.0
//
// The cursors on shards that cursors of the router still need: clients read those in their own
// time, and merges take rows of one shard for long before they want another's.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "router/remote/lanes.h"

namespace quire::router {

// Safe for concurrent use.
class LiveCursors {
 public:
  // Ids of cursors by the host that has them.
  using ByHost = std::map<std::string, std::vector<int64_t>>;
  class Owner {
   public:
    virtual ~Owner() = default;
    virtual void AddOpen(ByHost* cursors) = 0;
  };

  // For as long as the owner lives.
  void Add(std::weak_ptr<Owner> owner);
  // Tells the hosts that they are wanted. To be called more often than idle cursors expire.
  void Touch(Lanes& lanes);

 private:
  Mutex mutex_;
  std::vector<std::weak_ptr<Owner>> owners_ QUIRE_GUARDED_BY(mutex_);
  size_t swept_at_ QUIRE_GUARDED_BY(mutex_) = 64;
};

}  // namespace quire::router
