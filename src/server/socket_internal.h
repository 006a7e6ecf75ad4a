// SPDX-License-Identifier: Apache-2.0
//
// Sockets: listening ones from options, and the settings of accepted ones.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "quire/status.h"
#include "server/server.h"

namespace quire::server {

// Owns a file descriptor.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd();
  int get() const { return fd_; }

 private:
  int fd_ = -1;
};

struct Listener {
  Fd fd;
  std::string address;      // "127.0.0.1:27017" or a path
  std::string socket_path;  // of a unix socket, to be unlinked at the end; else empty
};

// Opens every listener `options` asks for; *port receives the TCP port.
Result<std::vector<Listener>> OpenListeners(const Options& options, int* port);

// An accepted connection: no delay, keep-alive, addresses as text.
struct Accepted {
  Fd fd;
  std::string remote;
  std::string local;
  std::string origin;  // as request::Client::origin
};
// The next waiting connection. An fd of -1: none waits, or (*error set) accepting failed.
Accepted Accept(const Listener& listener, int* error);

// A descriptor kept in reserve: without another one left it makes room to accept a connection and
// close it, which would otherwise wait for ever and wake everybody all the time. Safe for
// concurrent use.
class SpareDescriptor {
 public:
  SpareDescriptor();
  // Accepts and closes what waits; false when nothing did.
  bool Refuse(const Listener& listener);

 private:
  Mutex mutex_;
  Fd spare_ QUIRE_GUARDED_BY(mutex_);
};

}  // namespace quire::server
