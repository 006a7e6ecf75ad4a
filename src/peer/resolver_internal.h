// SPDX-License-Identifier: Apache-2.0
//
// Addresses of host names, asked for by a thread of its own: the system's resolver blocks.
#pragma once

#include <sys/socket.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "quire/status.h"

namespace quire::peer {

struct Address {
  sockaddr_storage bytes{};
  socklen_t size = 0;
};

struct HostAndPort {
  std::string host;
  std::string port;
};

// "name", "name:port", "[::1]:port"; the port is 27017 when not given. Error: BadValue.
Result<HostAndPort> SplitHost(const std::string& text);

class Resolver {
 public:
  using Found = std::function<void(Result<std::vector<Address>>)>;

  Status Start();
  ~Resolver();

  // Calls `found` on the resolver's thread, or at once for a numeric address.
  void Resolve(const HostAndPort& host, Found found);

 private:
  void Run();

  Mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ QUIRE_GUARDED_BY(mutex_) = false;
  std::deque<std::pair<HostAndPort, Found>> asked_ QUIRE_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace quire::peer
