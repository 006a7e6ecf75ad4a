// SPDX-License-Identifier: Apache-2.0
//
// The network door: accepts connections, reads messages, lets a Handler answer them.
//
// A pool of threads waits on one epoll descriptor; the thread that finds a connection readable
// reads, runs the command and writes the reply itself, so a request never changes threads. The
// pool grows when commands block and shrinks when idle. Idle connections hold no thread and no
// buffer; neither do slow readers (beyond their one reply) and delayed replies.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "quire/status.h"
#include "request/network_limits.h"
#include "request/request.h"
#include "server/tls.h"

namespace quire::server {

struct Options {
  // Addresses, host names, or absolute paths of unix sockets.
  std::vector<std::string> bind = {"127.0.0.1"};
  int port = 27017;  // 0: the system chooses
  bool ipv6 = false;
  // Folder of the socket file mongodb-<port>.sock; empty: no unix socket.
  std::string unix_socket_folder;
  int unix_socket_permissions = 0700;
  int max_connections = 65536;
  int max_threads = 4096;
  // Memory that messages arriving slowly and replies nobody reads may take, all connections
  // together; 0: an eighth of the machine's. Past it, the slowest are closed.
  size_t held_bytes = 0;
  // What one client may take; outlives the server.
  const request::NetworkLimits* limits = &request::Limits();
  // With which TLS is offered; null: not at all.
  std::shared_ptr<Tls> tls;
  // How long Stop lets running commands go on before it asks them to end.
  std::chrono::milliseconds grace = std::chrono::seconds(10);
};

class Server {
 public:
  // Listens and starts to serve; `bound`, when given, is told the TCP port before the first request
  // is taken. `handler` must outlive the server.
  // Error: the address is in use, unknown, or not permitted.
  static Result<std::unique_ptr<Server>> Start(const Options& options, request::Handler* handler,
                                               const std::function<void(int port)>& bound = {});
  // Stops if still running.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // The TCP port; the chosen one when options.port was 0.
  int port() const;
  // Every address listened on, as in "127.0.0.1:27017".
  std::vector<std::string> addresses() const;

  // Accepts nothing more, lets the requests in flight finish and be answered (with an error those
  // that end only when asked to), closes every connection and returns when nothing runs any more.
  // Not to be called from a Handler.
  void Stop();

 private:
  class Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace quire::server
