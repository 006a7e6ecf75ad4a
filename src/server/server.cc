// SPDX-License-Identifier: Apache-2.0
#include "server/server.h"

#include <utility>

#include "base/try.h"
#include "server/loop_internal.h"

namespace quire::server {

class Server::Impl : public Loop {
 public:
  using Loop::Loop;
};

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Server::~Server() { Stop(); }

Result<std::unique_ptr<Server>> Server::Start(const Options& options, request::Handler* handler,
                                              const std::function<void(int port)>& bound) {
  int port = 0;
  ASSIGN_OR_RETURN(std::vector<Listener> listeners, OpenListeners(options, &port));
  if (bound) {
    bound(port);
  }
  auto impl = std::make_unique<Impl>(options, std::move(listeners), port, handler);
  RETURN_IF_ERROR(impl->Start());
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

int Server::port() const { return impl_->port(); }

std::vector<std::string> Server::addresses() const { return impl_->addresses(); }

void Server::Stop() { impl_->Stop(); }

}  // namespace quire::server
