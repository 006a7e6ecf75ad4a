// SPDX-License-Identifier: Apache-2.0
//
// TLS as a server offers it: the options, and the certificates in force, which can be exchanged
// while connections are open.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "quire/status.h"
#include "tls/protocols.h"

using SSL_CTX = struct ssl_ctx_st;

namespace quire::server {

// kAllow and kPrefer take both plain and encrypted connections on the same port.
enum class TlsMode : unsigned char { kDisabled, kAllow, kPrefer, kRequire };
// Error: BadValue.
Result<TlsMode> ParseTlsMode(std::string_view name);
std::string_view NameOf(TlsMode mode);

struct TlsOptions {
  TlsMode mode = TlsMode::kDisabled;
  // PEM with the certificate, those between it and its authority, and the key.
  std::string certificate_key_file;
  std::string key_password;
  // Authorities of clients' certificates. With any, clients have to have one.
  std::string ca_file;
  bool system_ca = false;
  std::string crl_file;                    // PEM with lists of revoked certificates
  bool allow_without_certificate = false;  // a client need not have one
  bool allow_invalid_certificates = false;
  tls::Protocols protocols = {};
  // After which a connection that has not finished its handshake is closed.
  std::chrono::milliseconds handshake_timeout = std::chrono::seconds(10);
};

// What a server certificate says of itself.
struct CertificateFacts {
  std::string subject;
  int64_t expires = 0;  // milliseconds since 1970
  bool has_authority = false;
};

// The certificates in force. Safe for concurrent use.
class Tls {
 public:
  // Reads all files. Error: BadValue for options that do not go together, InvalidSSLConfiguration.
  static Result<std::unique_ptr<Tls>> Load(const TlsOptions& options);
  ~Tls();
  Tls(const Tls&) = delete;
  Tls& operator=(const Tls&) = delete;

  // Reads the same files again; connections that are open keep what they have. Error: as Load,
  // and what was in force stays so.
  Status Rotate();

  const TlsOptions& options() const { return options_; }
  // Which connections are taken; at first what the options say. Open ones stay.
  TlsMode mode() const { return mode_.load(std::memory_order_relaxed); }
  void SetMode(TlsMode mode) { mode_.store(mode, std::memory_order_relaxed); }
  CertificateFacts facts() const;
  // For the handshake of a new connection.
  std::shared_ptr<SSL_CTX> context() const;

 private:
  explicit Tls(TlsOptions options);

  const TlsOptions options_;
  std::atomic<TlsMode> mode_;
  mutable Mutex mutex_;
  std::shared_ptr<SSL_CTX> context_ QUIRE_GUARDED_BY(mutex_);
  CertificateFacts facts_ QUIRE_GUARDED_BY(mutex_);
};

}  // namespace quire::server
