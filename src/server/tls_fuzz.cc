// SPDX-License-Identifier: Apache-2.0
//
// Any bytes where TLS begins, and changed bytes in the middle of a handshake or of its records: the
// server's side must neither crash nor leak. The first byte of the input says how the rest is used:
// bit 0: after a true client's handshake; bit 1: in small pieces; the other bits: after how many of
// the client's bytes the input is put among them.
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "server/testing/certificates.h"
#include "server/transport_internal.h"

namespace quire::server {
namespace {

// The certificates of all runs.
struct Setting {
  TestFolder folder;
  TestCertificate ca{folder.File("ca.pem"), {.name = "CA", .authority = true}};
  TestCertificate server{folder.File("server.pem"), {.issuer = &ca}};
  TestCertificate client{folder.File("client.pem"), {.name = "ann", .issuer = &ca}};
  std::unique_ptr<Tls> tls;
  std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> client_context{SSL_CTX_new(TLS_client_method()),
                                                              SSL_CTX_free};

  Setting() {
    TlsOptions options;
    options.mode = TlsMode::kAllow;
    options.certificate_key_file = server.file();
    options.ca_file = ca.file();
    auto loaded = Tls::Load(options);
    if (!loaded.ok()) {
      abort();
    }
    tls = *std::move(loaded);
    SSL_CTX_use_certificate(client_context.get(), client.x509());
    SSL_CTX_use_PrivateKey(client_context.get(), client.key());
  }
};

// The server's end, given bytes at the other.
class Accepting {
 public:
  explicit Accepting(const Tls* tls) {
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds_) != 0) {
      abort();
    }
    transport_ = std::make_unique<Transport>(fds_[0], tls);
  }
  ~Accepting() {
    transport_.reset();
    close(fds_[0]);
    close(fds_[1]);
  }
  Accepting(const Accepting&) = delete;
  Accepting& operator=(const Accepting&) = delete;

  // What the server answers.
  std::string Give(std::string_view bytes, size_t piece) {
    for (size_t at = 0; at < bytes.size() && !closed_; at += piece) {
      std::string_view part = bytes.substr(at, piece);
      if (send(fds_[1], part.data(), part.size(), MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
        break;
      }
      Move();
    }
    std::string out;
    char data[16384];
    ssize_t n;
    while ((n = recv(fds_[1], data, sizeof data, MSG_DONTWAIT)) > 0) {
      out.append(data, static_cast<size_t>(n));
    }
    return out;
  }
  bool closed() const { return closed_; }

 private:
  void Move() {
    if (!transport_->ready()) {
      closed_ = transport_->Greet() == Transport::Step::kClose;
    }
    if (!transport_->ready() || closed_) {
      return;
    }
    if (transport_->encrypted()) {
      (void)transport_->Peer();
    }
    char data[512];
    size_t size = 0;
    bool more = true;
    while (more && !closed_) {
      closed_ =
          transport_->Receive(data, sizeof data, false, &size, &more) == Transport::Read::kEnd;
    }
    size_t sent = 0;
    (void)transport_->Send("an answer", &sent);
  }

  int fds_[2] = {-1, -1};
  std::unique_ptr<Transport> transport_;
  bool closed_ = false;
};

// A true client whose bytes, once `after` of them have gone out, are followed by `input`.
void Meddle(const Setting& setting, size_t after, std::string_view input, size_t piece) {
  Accepting server(setting.tls.get());
  std::unique_ptr<SSL, void (*)(SSL*)> client(SSL_new(setting.client_context.get()), SSL_free);
  BIO* in = BIO_new(BIO_s_mem());
  BIO* out = BIO_new(BIO_s_mem());
  SSL_set_bio(client.get(), in, out);
  SSL_set_connect_state(client.get());
  size_t gone = 0;
  for (int turn = 0; turn < 6 && !server.closed(); ++turn) {
    ERR_clear_error();
    if (SSL_do_handshake(client.get()) == 1) {
      size_t n = 0;
      (void)SSL_write_ex(client.get(), "a question", 10, &n);
    }
    std::string bytes(BIO_ctrl_pending(out), '\0');
    BIO_read(out, bytes.data(), static_cast<int>(bytes.size()));
    if (!input.empty() && gone + bytes.size() >= after) {
      bytes.insert(after - gone, input);
      input = {};
    }
    gone += bytes.size();
    std::string answer = server.Give(bytes, piece);
    BIO_write(in, answer.data(), static_cast<int>(answer.size()));
  }
  ERR_clear_error();
}

}  // namespace
}  // namespace quire::server

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace quire::server;  // NOLINT(google-build-using-namespace)
  static const Setting setting;
  if (size == 0) {
    return 0;
  }
  const unsigned how = data[0];
  std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  const size_t piece = (how & 2U) != 0 ? 7 : 1 << 16;
  if ((how & 1U) != 0) {
    constexpr size_t kStep = 29;
    Meddle(setting, (how >> 2) * kStep, input, piece);
  } else {
    Accepting server(setting.tls.get());
    (void)server.Give(input, piece);
  }
  return 0;
}
