// SPDX-License-Identifier: Apache-2.0
//
// The other end of a connection, for the server's tests.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "quire/bson.h"

namespace quire::server {

inline std::string Command(const char* name, int32_t argument) {
  bson::Builder b;
  b.Append(name, argument).Append("$db", "test");
  return b.Finish().bytes();
}

inline std::string Frame(int32_t flags, const std::string& body, const std::string& more = "") {
  std::string bytes(21, '\0');
  bytes += body + more;
  int32_t fields[] = {static_cast<int32_t>(bytes.size()), 7, 0, 2013, flags};
  memcpy(bytes.data(), fields, sizeof fields);
  return bytes;
}

// A blocking client.
class Peer {
 public:
  explicit Peer(int port, int family = AF_INET) {
    fd_ = socket(family, SOCK_STREAM, 0);
    if (family == AF_INET) {
      sockaddr_in address{};
      address.sin_family = AF_INET;
      address.sin_port = htons(static_cast<uint16_t>(port));
      address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      connected_ = connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    } else {
      sockaddr_in6 address{};
      address.sin6_family = AF_INET6;
      address.sin6_port = htons(static_cast<uint16_t>(port));
      address.sin6_addr = in6addr_loopback;
      connected_ = connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    }
  }
  explicit Peer(const std::string& path) {
    fd_ = socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    memcpy(address.sun_path, path.c_str(), path.size() + 1);
    connected_ = connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  // Calls from another address of this machine.
  Peer(int port, const char* from) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    inet_pton(AF_INET, from, &address.sin_addr);
    (void)bind(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address);
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  ~Peer() { Close(); }
  Peer(Peer&& other) noexcept : fd_(std::exchange(other.fd_, -1)), connected_(other.connected_) {}

  bool connected() const { return connected_; }
  void Close() {
    if (fd_ >= 0) {
      close(std::exchange(fd_, -1));
    }
  }
  int fd() const { return fd_; }
  void Send(std::string_view bytes) {
    while (!bytes.empty()) {
      ssize_t n = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0) {
        return;
      }
      bytes.remove_prefix(static_cast<size_t>(n));
    }
  }
  // The next message; empty at the end of the connection.
  std::string Receive() {
    std::string bytes = Read(16);
    if (bytes.empty()) {
      return "";
    }
    int32_t length;
    memcpy(&length, bytes.data(), 4);
    std::string rest = Read(static_cast<size_t>(length) - 16);
    return rest.empty() ? rest : bytes + rest;
  }
  // There is an answer to the message.
  bool Answers(const std::string& message) {
    Send(message);
    return !Receive().empty();
  }
  // The document of the next reply, valid until the next call; empty at the end.
  const bson::Document& Reply() {
    std::string bytes = Receive();
    reply_ = {};
    if (bytes.size() < 26) {
      return reply_;
    }
    flags_ = bytes[16];
    memcpy(&response_to_, bytes.data() + 8, 4);
    memcpy(&id_, bytes.data() + 4, 4);
    reply_ = bson::Document(bson::View(bytes.data() + 21));
    return reply_;
  }
  const bson::Document& Run(const char* name, int32_t argument = 1) {
    Send(Frame(0, Command(name, argument)));
    return Reply();
  }
  char flags() const { return flags_; }
  int32_t id() const { return id_; }
  int32_t response_to() const { return response_to_; }

 private:
  std::string Read(size_t size) {
    std::string bytes(size, '\0');
    size_t have = 0;
    while (have < size) {
      ssize_t n = recv(fd_, bytes.data() + have, size - have, 0);
      if (n <= 0) {
        return "";
      }
      have += static_cast<size_t>(n);
    }
    return bytes;
  }
  int fd_ = -1;
  bool connected_ = false;
  bson::Document reply_;
  char flags_ = 0;
  int32_t id_ = 0;
  int32_t response_to_ = 0;
};

}  // namespace quire::server
