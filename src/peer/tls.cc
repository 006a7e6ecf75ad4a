// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

#include "base/error_codes.h"
#include "base/try.h"
#include "peer/tls_internal.h"
#include "tls/files.h"
#include "tls/protocols.h"

namespace quire::peer {
namespace {

constexpr size_t kReadBytes = 64 << 10;

bool IsAddress(const std::string& host) {
  in6_addr buffer;
  return inet_pton(AF_INET, host.c_str(), &buffer) == 1 ||
         inet_pton(AF_INET6, host.c_str(), &buffer) == 1;
}

}  // namespace

Result<std::shared_ptr<SSL_CTX>> MakeClientContext(const TlsOptions& options) {
  if (!options.enabled) {
    return std::shared_ptr<SSL_CTX>();
  }
  if (options.ca_file.empty() && !options.system_ca && !options.allow_invalid_certificates) {
    return Status(kBadValue,
                  "TLS needs authorities that the servers' certificates are checked with");
  }
  ERR_clear_error();
  std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
  if (context == nullptr) {
    return Status(kInvalidSSLConfiguration, "OpenSSL cannot start: " + tls::OpenSslError());
  }
  RETURN_IF_ERROR(tls::UseProtocols(options.protocols, context.get()));
  // A client of OpenSSL offers nothing above a gap between its versions.
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_mode(context.get(), SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                      SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  if (!options.certificate_key_file.empty()) {
    RETURN_IF_ERROR(
        tls::UseCertificate(options.certificate_key_file, options.key_password, context.get()));
  }
  RETURN_IF_ERROR(tls::UseAuthorities(
      {.file = options.ca_file, .system = options.system_ca, .revoked = options.crl_file},
      context.get()));
  SSL_CTX_set_verify(context.get(),
                     options.allow_invalid_certificates ? SSL_VERIFY_NONE : SSL_VERIFY_PEER,
                     nullptr);
  return context;
}

void Stream::Free::operator()(SSL* ssl) const { SSL_free(ssl); }

Stream::Stream(int fd, SSL_CTX* context, const TlsOptions& options, const std::string& host)
    : fd_(fd) {
  if (context == nullptr) {
    open_ = true;
    return;
  }
  ERR_clear_error();
  ssl_.reset(SSL_new(context));
  if (ssl_ == nullptr || SSL_set_fd(ssl_.get(), fd) != 1) {
    problem_ = "OpenSSL: " + tls::OpenSslError();
    return;
  }
  SSL_set_connect_state(ssl_.get());
  if (IsAddress(host)) {
    if (!options.allow_invalid_host_names) {
      X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl_.get()), host.c_str());
    }
  } else {
    SSL_set_tlsext_host_name(ssl_.get(), host.c_str());
    if (!options.allow_invalid_host_names) {
      SSL_set1_host(ssl_.get(), host.c_str());
    }
  }
}

Stream::~Stream() {
  if (ssl_ != nullptr && open_) {
    ERR_clear_error();
    (void)SSL_shutdown(ssl_.get());  // says good-bye; nobody waits for the answer
    ERR_clear_error();
  }
}

Progress Stream::Explain(int result, const char* doing) {
  switch (SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_WANT_READ:
      return Progress::kWantsRead;
    case SSL_ERROR_WANT_WRITE:
      return Progress::kWantsWrite;
    default:
      break;
  }
  problem_ = std::string("TLS ended while ") + doing + ": " + tls::OpenSslError();
  const auto verified = SSL_get_verify_result(ssl_.get());
  if (verified != X509_V_OK) {
    problem_ += std::string(": ") + X509_verify_cert_error_string(verified);
  }
  open_ = false;  // nothing more may be said on it
  return Progress::kEnd;
}

Progress Stream::Handshake() {
  if (open_) {
    return Progress::kDone;
  }
  if (ssl_ == nullptr || !problem_.empty()) {
    return Progress::kEnd;
  }
  ERR_clear_error();
  const int result = SSL_do_handshake(ssl_.get());
  if (result != 1) {
    return Explain(result, "connecting");
  }
  open_ = true;
  return Progress::kDone;
}

Progress Stream::Read(std::string* in) {
  std::array<char, kReadBytes> bytes;
  may_have_more_ = ssl_ != nullptr;
  if (ssl_ != nullptr) {
    size_t n = 0;
    ERR_clear_error();
    const int result = SSL_read_ex(ssl_.get(), bytes.data(), bytes.size(), &n);
    in->append(bytes.data(), n);
    return result == 1 ? Progress::kDone : Explain(result, "reading");
  }
  ssize_t n;
  do {
    n = recv(fd_, bytes.data(), bytes.size(), MSG_DONTWAIT);
  } while (n < 0 && errno == EINTR);
  if (n > 0) {
    in->append(bytes.data(), static_cast<size_t>(n));
    may_have_more_ = static_cast<size_t>(n) == bytes.size();
    return Progress::kDone;
  }
  if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
    return Progress::kWantsRead;
  }
  problem_ = n == 0 ? "the other side closed the connection" : strerror(errno);
  return Progress::kEnd;
}

Progress Stream::Write(const std::string& bytes, size_t* at) {
  while (*at < bytes.size()) {
    if (ssl_ != nullptr) {
      size_t n = 0;
      ERR_clear_error();
      const int result = SSL_write_ex(ssl_.get(), bytes.data() + *at, bytes.size() - *at, &n);
      *at += n;
      if (result != 1) {
        return Explain(result, "writing");
      }
      continue;
    }
    const ssize_t n =
        send(fd_, bytes.data() + *at, bytes.size() - *at, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n >= 0) {
      *at += static_cast<size_t>(n);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      return Progress::kWantsWrite;
    } else if (errno != EINTR) {
      problem_ = strerror(errno);
      return Progress::kEnd;
    }
  }
  return Progress::kDone;
}

}  // namespace quire::peer
