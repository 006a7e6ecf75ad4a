// SPDX-License-Identifier: Apache-2.0
#include "socket_handler.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/error_codes.h"

namespace quire::conformance {
namespace {

constexpr int32_t kMessage = 2013;  // OP_MSG
constexpr size_t kHeader = 16;
constexpr size_t kBody = kHeader + 4 + 1;  // the flags, and the kind of the first section

void AppendInt(int32_t value, std::string* out) {
  out->append(reinterpret_cast<const char*>(&value), sizeof value);
}

class SocketHandler final : public request::Handler {
 public:
  explicit SocketHandler(int socket) : socket_(socket) {}
  ~SocketHandler() override { close(socket_); }
  SocketHandler(const SocketHandler&) = delete;
  SocketHandler& operator=(const SocketHandler&) = delete;

  request::Outcome Run(request::Client& /*client*/, const request::Request& request,
                       std::string* reply) override {
    std::string message(sizeof(int32_t), '\0');  // the length
    AppendInt(1, &message);
    AppendInt(0, &message);
    AppendInt(kMessage, &message);
    AppendInt(0, &message);
    message += '\0';
    message += request.body.bytes();
    for (const request::Sequence& sequence : request.sequences) {
      AppendSequence(sequence, &message);
    }
    const auto size = static_cast<int32_t>(message.size());
    std::memcpy(message.data(), &size, sizeof size);
    const std::string answer = Send(message) ? Receive() : std::string();
    if (answer.size() > kBody) {
      reply->append(answer, kBody);
    } else {
      bson::Builder(reply)
          .Append("ok", 0.0)
          .Append("errmsg", "the connection broke")
          .Append("code", static_cast<int32_t>(kHostUnreachable))
          .Close();
    }
    return {};
  }
  void Disconnected(request::Client& /*client*/) override {}

 private:
  static void AppendSequence(const request::Sequence& sequence, std::string* message) {
    *message += '\1';
    const size_t start = message->size();
    AppendInt(0, message);
    *message += sequence.name;
    *message += '\0';
    for (const bson::View& document : sequence.documents) {
      *message += document.bytes();
    }
    const auto size = static_cast<int32_t>(message->size() - start);
    std::memcpy(message->data() + start, &size, sizeof size);
  }

  bool Send(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t sent = send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) {
        return false;
      }
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }

  // One message; empty when the connection ends before.
  std::string Receive() const {
    std::string message(kHeader, '\0');
    size_t have = 0;
    while (have < message.size()) {
      const ssize_t got = recv(socket_, message.data() + have, message.size() - have, 0);
      if (got <= 0) {
        return {};
      }
      have += static_cast<size_t>(got);
      if (have == kHeader && message.size() == kHeader) {
        int32_t size = 0;
        std::memcpy(&size, message.data(), sizeof size);
        message.resize(static_cast<size_t>(size));
      }
    }
    return message;
  }

  const int socket_;
};

}  // namespace

Result<std::unique_ptr<request::Handler>> ConnectSocket(const std::string& address) {
  constexpr std::string_view kBefore = "mongodb://127.0.0.1:";
  const int port = address.starts_with(kBefore) ? atoi(address.c_str() + kBefore.size()) : 0;
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in server = {};
  server.sin_family = AF_INET;
  server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  server.sin_port = htons(static_cast<uint16_t>(port));
  if (connect(fd, reinterpret_cast<sockaddr*>(&server), sizeof server) != 0) {
    close(fd);
    return Status(kHostUnreachable, "no server at " + address);
  }
  return std::unique_ptr<request::Handler>(std::make_unique<SocketHandler>(fd));
}

}  // namespace quire::conformance
