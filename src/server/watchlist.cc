// SPDX-License-Identifier: Apache-2.0
#include <sys/socket.h>

#include <string>
#include <vector>

#include "base/log.h"
#include "base/mutex.h"
#include "server/connection_internal.h"
#include "server/watchlist_internal.h"

namespace quire::server {

void Watchlist::Watch(Connection* connection) {
  if (connection->timeouts().deadline() == 0 || connection->watched.exchange(true)) {
    return;
  }
  MutexLock lock(mutex_);
  watched_.insert(connection);
}

void Watchlist::Forget(Connection* connection) {
  MutexLock lock(mutex_);
  watched_.erase(connection);
}

void Watchlist::Look(int64_t now_millis) {
  struct Ended {
    std::string remote;
    std::string complaint;
  };
  std::vector<Ended> ended;
  {
    MutexLock lock(mutex_);
    for (auto it = watched_.begin(); it != watched_.end();) {
      Connection* connection = *it;
      connection->watched = false;
      const int64_t deadline = connection->timeouts().deadline();
      const bool over = deadline != 0 && deadline <= now_millis;
      if (over) {
        (void)shutdown(connection->fd(), SHUT_RDWR);
        ended.push_back(
            {connection->client().remote(), std::string(connection->timeouts().complaint())});
      }
      // Who was given a deadline since comes back by itself.
      if (over || deadline == 0) {
        it = watched_.erase(it);
      } else {
        connection->watched = true;
        ++it;
      }
    }
  }
  for (const Ended& one : ended) {
    log::Info("NETWORK", "Ending a connection that does not get on",
              {{"remote", one.remote}, {"reason", one.complaint}});
  }
}

}  // namespace quire::server
