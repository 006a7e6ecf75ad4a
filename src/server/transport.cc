// SPDX-License-Identifier: Apache-2.0
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "server/certificate_internal.h"
#include "server/transport_internal.h"
#include "tls/files.h"

namespace quire::server {

// A source and sink of OpenSSL on the transport's socket.
struct SocketBio {
  static Transport* Of(BIO* bio) { return static_cast<Transport*>(BIO_get_data(bio)); }
  static int Read(BIO* bio, char* out, int size) {
    BIO_clear_retry_flags(bio);
    int n = Of(bio)->BioRead(out, size);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      BIO_set_retry_read(bio);
    }
    return n;
  }
  static int Write(BIO* bio, const char* data, int size) {
    BIO_clear_retry_flags(bio);
    int n = Of(bio)->BioWrite(data, size);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      BIO_set_retry_write(bio);
    }
    return n;
  }
  // NOLINTNEXTLINE(google-runtime-int): OpenSSL's signature
  static long Control(BIO* /*bio*/, int command, long /*number*/, void* /*pointer*/) {
    return command == BIO_CTRL_FLUSH ? 1 : 0;
  }
  // Notes why a certificate is not valid, and goes on with it where options allow.
  static int Verified(int ok, X509_STORE_CTX* store) {
    if (ok == 1) {
      return 1;
    }
    auto* ssl =
        static_cast<SSL*>(X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()));
    auto* transport = static_cast<Transport*>(SSL_get_app_data(ssl));
    if (transport->invalid_certificate_.empty()) {
      transport->invalid_certificate_ =
          X509_verify_cert_error_string(X509_STORE_CTX_get_error(store));
    }
    return transport->tls_->options().allow_invalid_certificates ? 1 : 0;
  }

  static BIO_METHOD* Method() {
    static BIO_METHOD* const method = [] {
      BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "quire socket");
      BIO_meth_set_read(made, Read);
      BIO_meth_set_write(made, Write);
      BIO_meth_set_ctrl(made, Control);
      return made;
    }();
    return method;
  }
};

namespace {

// Whether OpenSSL has the header of a record and not all the rest.
bool AwaitsBody(const SSL* ssl) { return std::string_view(SSL_rstate_string(ssl)) == "RB"; }

}  // namespace

Opening Classify(std::string_view bytes) {
  constexpr unsigned char kHandshakeRecord = 0x16;
  constexpr unsigned char kClientHello = 1;
  constexpr unsigned char kMajor = 3;
  constexpr unsigned char kNewestMinor = 4;
  for (size_t i = 0; i < std::min(bytes.size(), kOpeningSize); ++i) {
    auto byte = static_cast<unsigned char>(bytes[i]);
    bool fits = true;
    switch (i) {
      case 0:
        fits = byte == kHandshakeRecord;
        break;
      case 1:
      case 9:
        fits = byte == kMajor;
        break;
      case 2:
      case 10:
        fits = byte <= kNewestMinor;
        break;
      case 5:
        fits = byte == kClientHello;
        break;
      default:
        break;
    }
    if (!fits) {
      return Opening::kPlain;
    }
  }
  return bytes.size() < kOpeningSize ? Opening::kUndecided : Opening::kTls;
}

void Transport::SslFree::operator()(SSL* ssl) const { SSL_free(ssl); }

Transport::Transport(int fd, const Tls* tls) : fd_(fd), tls_(tls) {}

Transport::~Transport() {
  if (state_ == State::kOpen) {
    ERR_clear_error();
    (void)SSL_shutdown(ssl_.get());  // says good-bye; nobody waits for the answer
    ERR_clear_error();
  }
}

int Transport::BioRead(char* out, int size) {
  if (opening_used_ < opening_size_) {
    int n = std::min(size, opening_size_ - opening_used_);
    memcpy(out, opening_ + opening_used_, static_cast<size_t>(n));
    opening_used_ += static_cast<unsigned char>(n);
    return n;
  }
  // Waits once only: a peer that sends little by little keeps no thread.
  const int flags = std::exchange(wait_, false) ? 0 : MSG_DONTWAIT;
  ssize_t n;
  do {
    n = recv(fd_, out, static_cast<size_t>(size), flags);
  } while (n < 0 && errno == EINTR);
  raw_ += static_cast<size_t>(std::max<ssize_t>(n, 0));
  return static_cast<int>(n);
}

int Transport::BioWrite(const char* data, int size) const {
  ssize_t n;
  do {
    n = send(fd_, data, static_cast<size_t>(size), MSG_DONTWAIT | MSG_NOSIGNAL);
  } while (n < 0 && errno == EINTR);
  return static_cast<int>(n);
}

Transport::Step Transport::Fail(std::string problem) {
  state_ = State::kFailed;
  problem_ = std::move(problem);
  return Step::kClose;
}

Transport::Step Transport::Greet() {
  switch (state_) {
    case State::kOpening:
      return ReadOpening();
    case State::kHandshake:
      return Handshake();
    case State::kFailed:
      return Step::kClose;
    case State::kPlain:
    case State::kOpen:
      break;
  }
  return Step::kReady;
}

Transport::Step Transport::ReadOpening() {
  while (true) {
    const Opening opening = Classify({opening_, opening_size_});
    const TlsMode mode = tls_ == nullptr ? TlsMode::kDisabled : tls_->mode();
    if (opening == Opening::kTls) {
      return mode == TlsMode::kDisabled ? Fail("TLS is not enabled on this server") : BeginTls();
    }
    if (opening == Opening::kPlain) {
      if (mode == TlsMode::kRequire) {
        return Fail("The server is configured to only allow SSL connections");
      }
      state_ = State::kPlain;
      return Step::kReady;
    }
    ssize_t n;
    do {
      n = recv(fd_, opening_ + opening_size_, kOpeningSize - opening_size_, MSG_DONTWAIT);
    } while (n < 0 && errno == EINTR);
    if (n <= 0) {
      return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) ? Step::kReadable : Fail("");
    }
    opening_size_ += static_cast<unsigned char>(n);
  }
}

Transport::Step Transport::BeginTls() {
  ERR_clear_error();
  ssl_.reset(SSL_new(tls_->context().get()));
  BIO* bio = ssl_ == nullptr ? nullptr : BIO_new(SocketBio::Method());
  if (bio == nullptr) {
    return Fail("OpenSSL: " + tls::OpenSslError());
  }
  BIO_set_data(bio, this);
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl_.get(), bio, bio);
  SSL_set_app_data(ssl_.get(), this);
  const TlsOptions& options = tls_->options();
  int verify = SSL_VERIFY_PEER;
  if (!options.allow_without_certificate) {
    verify |= SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
  }
  SSL_set_verify(ssl_.get(), verify, SocketBio::Verified);
  SSL_set_accept_state(ssl_.get());
  state_ = State::kHandshake;
  return Handshake();
}

Transport::Step Transport::Handshake() {
  ERR_clear_error();
  const int rc = SSL_do_handshake(ssl_.get());
  if (rc == 1) {
    state_ = State::kOpen;
    return Step::kReady;
  }
  switch (SSL_get_error(ssl_.get(), rc)) {
    case SSL_ERROR_WANT_READ:
      return Step::kReadable;
    case SSL_ERROR_WANT_WRITE:
      return Step::kWritable;
    case SSL_ERROR_SSL: {
      std::string problem = tls::OpenSslError();
      return Fail(invalid_certificate_.empty() ? problem : problem + ": " + invalid_certificate_);
    }
    default:
      return Fail("the peer left during the handshake");
  }
}

TlsPeer Transport::Peer() const {
  TlsPeer peer;
  peer.version = SSL_get_version(ssl_.get());
  peer.cipher = SSL_get_cipher_name(ssl_.get());
  peer.invalid = invalid_certificate_;
  X509* certificate = SSL_get0_peer_certificate(ssl_.get());
  if (certificate != nullptr && invalid_certificate_.empty() &&
      SSL_get_verify_result(ssl_.get()) == X509_V_OK) {
    peer.subject = SubjectOf(certificate);
    peer.of_server_organisation = SameOrganisation(certificate, SSL_get_certificate(ssl_.get()));
  }
  return peer;
}

Transport::Read Transport::Receive(char* data, size_t room, bool wait, size_t* size, bool* more) {
  *size = 0;
  *more = false;
  if (state_ == State::kOpen || state_ == State::kFailed) {
    return ReceiveTls(data, room, wait, size, more);
  }
  if (opening_used_ < opening_size_) [[unlikely]] {
    *size = std::min<size_t>(room, static_cast<size_t>(opening_size_ - opening_used_));
    memcpy(data, opening_ + opening_used_, *size);
    opening_used_ += static_cast<unsigned char>(*size);
    *more = true;
    return Read::kData;
  }
  ssize_t n;
  do {
    n = recv(fd_, data, room, wait ? 0 : MSG_DONTWAIT);
  } while (n < 0 && errno == EINTR);
  if (n > 0) {
    *size = static_cast<size_t>(n);
    *more = *size == room;
    return Read::kData;
  }
  return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) ? Read::kNothing : Read::kEnd;
}

Transport::Read Transport::ReceiveTls(char* data, size_t room, bool wait, size_t* size,
                                      bool* more) {
  if (state_ == State::kFailed) {
    return Read::kEnd;
  }
  wait_ = wait;
  wants_write_ = false;
  do {
    size_t n = 0;
    ERR_clear_error();
    const int rc = SSL_read_ex(ssl_.get(), data + *size, room - *size, &n);
    *size += n;
    if (rc == 1) {
      continue;
    }
    const int error = SSL_get_error(ssl_.get(), rc);
    wants_write_ = error == SSL_ERROR_WANT_WRITE;
    if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE) {
      if (error != SSL_ERROR_ZERO_RETURN) {
        state_ = State::kFailed;
      }
      *more = true;  // the end itself
      return *size > 0 ? Read::kData : Read::kEnd;
    }
    break;
  } while (*size < room && SSL_has_pending(ssl_.get()) == 1);
  wait_ = false;
  if (SSL_has_pending(ssl_.get()) == 0 && !AwaitsBody(ssl_.get())) {
    raw_ = 0;
  }
  *more = *size == room;
  return *size > 0 ? Read::kData : Read::kNothing;
}

Transport::Flush Transport::Send(std::string_view bytes, size_t* sent) {
  if (state_ != State::kPlain) {
    return SendTls(bytes, sent);
  }
  while (*sent < bytes.size()) {
    ssize_t n = send(fd_, bytes.data() + *sent, bytes.size() - *sent, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n >= 0) {
      *sent += static_cast<size_t>(n);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      return Flush::kBlocked;
    } else if (errno != EINTR) {
      return Flush::kFailed;
    }
  }
  return Flush::kDone;
}

Transport::Flush Transport::SendTls(std::string_view bytes, size_t* sent) {
  while (*sent < bytes.size()) {
    if (state_ != State::kOpen) {
      return Flush::kFailed;
    }
    size_t n = 0;
    ERR_clear_error();
    const int rc = SSL_write_ex(ssl_.get(), bytes.data() + *sent, bytes.size() - *sent, &n);
    *sent += n;
    if (rc == 1) {
      continue;
    }
    if (SSL_get_error(ssl_.get(), rc) == SSL_ERROR_WANT_WRITE) {
      return Flush::kBlocked;
    }
    state_ = State::kFailed;
  }
  return Flush::kDone;
}

}  // namespace quire::server
