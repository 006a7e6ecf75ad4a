// SPDX-License-Identifier: Apache-2.0
//
// The connections with a deadline. One whose time is over has its socket shut down: whoever waits
// for it, or drives it, meets the end and closes it.
#pragma once

#include <cstdint>
#include <unordered_set>

#include "base/mutex.h"

namespace quire::server {

class Connection;

// Safe for concurrent use.
class Watchlist {
 public:
  // Takes the connection in when it has a deadline. By the thread that holds it.
  void Watch(Connection* connection);
  // Before it is closed.
  void Forget(Connection* connection);
  // Ends those whose deadline has come, and drops those that have none any more.
  void Look(int64_t now_millis);

 private:
  Mutex mutex_;
  std::unordered_set<Connection*> watched_ QUIRE_GUARDED_BY(mutex_);
};

}  // namespace quire::server
