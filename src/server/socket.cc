// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "base/error_codes.h"
#include "base/mutex.h"
#include "base/try.h"
#include "server/socket_internal.h"

namespace quire::server {
namespace {

constexpr int kBacklog = 4096;

Status SystemError(const std::string& what) {
  return {errno == EADDRINUSE ? 9001 : kHostUnreachable, what + ": " + strerror(errno)};
}

void SetOption(int fd, int level, int name, int value) {
  (void)setsockopt(fd, level, name, &value, sizeof value);
}

std::string AddressText(const sockaddr_storage& address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address.ss_family == AF_INET) {
    const auto& in = reinterpret_cast<const sockaddr_in&>(address);
    inet_ntop(AF_INET, &in.sin_addr, text, sizeof text);
    return std::string(text) + ":" + std::to_string(ntohs(in.sin_port));
  }
  if (address.ss_family == AF_INET6) {
    const auto& in = reinterpret_cast<const sockaddr_in6&>(address);
    inet_ntop(AF_INET6, &in.sin6_addr, text, sizeof text);
    return "[" + std::string(text) + "]:" + std::to_string(ntohs(in.sin6_port));
  }
  return "anonymous unix socket";
}

// The address without the port; one who has an IPv6 address mostly has all of its /64.
std::string OriginOf(const sockaddr_storage& address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address.ss_family == AF_INET) {
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in&>(address).sin_addr, text, sizeof text);
    return text;
  }
  if (address.ss_family == AF_INET6) {
    in6_addr network = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
    memset(network.s6_addr + 8, 0, 8);
    inet_ntop(AF_INET6, &network, text, sizeof text);
    return std::string(text) + "/64";
  }
  return "";
}

int PortOf(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  (void)getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.ss_family == AF_INET6
                   ? reinterpret_cast<const sockaddr_in6&>(address).sin6_port
                   : reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

Result<Listener> ListenTcp(const addrinfo& info) {
  Listener listener;
  listener.fd = Fd(socket(info.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  int fd = listener.fd.get();
  sockaddr_storage address{};
  memcpy(&address, info.ai_addr, info.ai_addrlen);
  listener.address = AddressText(address);
  if (fd < 0) {
    return SystemError("Failed to open a socket for " + listener.address);
  }
  SetOption(fd, SOL_SOCKET, SO_REUSEADDR, 1);
  if (info.ai_family == AF_INET6) {
    SetOption(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
  }
  if (bind(fd, info.ai_addr, info.ai_addrlen) != 0 || listen(fd, kBacklog) != 0) {
    return SystemError("Failed to listen on " + listener.address);
  }
  socklen_t size = sizeof address;
  (void)getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  listener.address = AddressText(address);
  return listener;
}

Status ListenHost(const std::string& host, const Options& options, int* port,
                  std::vector<Listener>* out) {
  addrinfo hints{};
  hints.ai_family = options.ipv6 ? AF_UNSPEC : AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  int rc = getaddrinfo(host.c_str(), std::to_string(*port).c_str(), &hints, &found);
  if (rc != 0) {
    return {kHostNotFound, "Failed to resolve " + host + ": " + gai_strerror(rc)};
  }
  std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, freeaddrinfo);
  for (addrinfo* info = found; info != nullptr; info = info->ai_next) {
    if (*port != 0) {  // chosen by the first address when it was 0
      if (info->ai_family == AF_INET) {
        reinterpret_cast<sockaddr_in*>(info->ai_addr)->sin_port = htons(*port);
      } else {
        reinterpret_cast<sockaddr_in6*>(info->ai_addr)->sin6_port = htons(*port);
      }
    }
    ASSIGN_OR_RETURN(Listener listener, ListenTcp(*info));
    *port = PortOf(listener.fd.get());
    out->push_back(std::move(listener));
  }
  return Status::Ok();
}

Result<Listener> ListenUnix(const std::string& path, int permissions) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return Status(kBadValue, "Unix socket path is too long: " + path);
  }
  memcpy(address.sun_path, path.c_str(), path.size() + 1);
  Listener listener;
  listener.fd = Fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  listener.address = path;
  int fd = listener.fd.get();
  (void)unlink(path.c_str());
  if (fd < 0 || bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      chmod(path.c_str(), permissions) != 0 || listen(fd, kBacklog) != 0) {
    return SystemError("Failed to listen on " + path);
  }
  listener.socket_path = path;
  return listener;
}

}  // namespace

Fd::~Fd() {
  if (fd_ >= 0) {
    (void)close(fd_);
  }
}

Result<std::vector<Listener>> OpenListeners(const Options& options, int* port) {
  std::vector<Listener> listeners;
  *port = options.port;
  for (const std::string& host : options.bind) {
    if (host.starts_with('/')) {
      ASSIGN_OR_RETURN(Listener listener, ListenUnix(host, options.unix_socket_permissions));
      listeners.push_back(std::move(listener));
    } else {
      RETURN_IF_ERROR(ListenHost(host, options, port, &listeners));
    }
  }
  if (!options.unix_socket_folder.empty()) {
    std::string path = options.unix_socket_folder + "/mongodb-" + std::to_string(*port) + ".sock";
    ASSIGN_OR_RETURN(Listener listener, ListenUnix(path, options.unix_socket_permissions));
    listeners.push_back(std::move(listener));
  }
  return listeners;
}

Accepted Accept(const Listener& listener, int* error) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  int fd = accept4(listener.fd.get(), reinterpret_cast<sockaddr*>(&address), &size, SOCK_CLOEXEC);
  Accepted accepted;
  if (fd < 0) {
    *error = errno == EAGAIN || errno == ECONNABORTED || errno == EINTR ? 0 : errno;
    return accepted;
  }
  accepted.fd = Fd(fd);
  accepted.remote = AddressText(address);
  accepted.origin = OriginOf(address);
  if (address.ss_family == AF_INET || address.ss_family == AF_INET6) {
    SetOption(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    SetOption(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    SetOption(fd, IPPROTO_TCP, TCP_KEEPIDLE, 120);
    SetOption(fd, IPPROTO_TCP, TCP_KEEPINTVL, 30);
    SetOption(fd, IPPROTO_TCP, TCP_KEEPCNT, 4);
    size = sizeof address;
    (void)getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
    accepted.local = AddressText(address);
  } else {
    accepted.local = listener.address;
  }
  return accepted;
}

SpareDescriptor::SpareDescriptor() : spare_(open("/dev/null", O_RDONLY | O_CLOEXEC)) {}

bool SpareDescriptor::Refuse(const Listener& listener) {
  MutexLock lock(mutex_);
  spare_ = Fd();
  int error = 0;
  const bool waited = Accept(listener, &error).fd.get() >= 0;
  spare_ = Fd(open("/dev/null", O_RDONLY | O_CLOEXEC));
  return waited;
}

}  // namespace quire::server
