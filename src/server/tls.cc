// SPDX-License-Identifier: Apache-2.0
#include "server/tls.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <utility>

#include "base/error_codes.h"
#include "base/try.h"
#include "server/certificate_internal.h"
#include "tls/files.h"

namespace quire::server {
namespace {

// Of a client's certificate and those above it.
constexpr int kMaxCertificateBytes = 64 << 10;
constexpr std::string_view kSessionContext = "quire";

Status Bad(std::string text) { return {kBadValue, std::move(text)}; }

Status SetProtocols(const tls::Protocols& protocols, SSL_CTX* context) {
  RETURN_IF_ERROR(tls::UseProtocols(protocols, context));
  SSL_CTX_set_options(context, SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_NO_TICKET);
  SSL_CTX_set_dh_auto(context, 1);
  return Status::Ok();
}

Status UseCertificate(const TlsOptions& options, SSL_CTX* context, CertificateFacts* facts) {
  const std::string& file = options.certificate_key_file;
  RETURN_IF_ERROR(tls::UseCertificate(file, options.key_password, context));
  X509* certificate = SSL_CTX_get0_certificate(context);
  if (Status time = CheckTime(certificate); !time.ok()) {
    return {time.code(), "'" + file + "': " + time.message()};
  }
  facts->subject = SubjectOf(certificate);
  facts->expires = ExpiryOf(certificate);
  facts->has_authority = !options.ca_file.empty() || options.system_ca;
  return Status::Ok();
}

Status UseAuthorities(const TlsOptions& options, SSL_CTX* context) {
  const std::string& file = options.ca_file;
  if (!file.empty()) {  // whose certificates clients are asked for
    STACK_OF(X509_NAME)* names = SSL_load_client_CA_file(file.c_str());
    if (names == nullptr) {
      return tls::UnusableFile("cannot read the authorities in", file);
    }
    SSL_CTX_set_client_CA_list(context, names);
  }
  return tls::UseAuthorities(
      {.file = file, .system = options.system_ca, .revoked = options.crl_file}, context);
}

Status CheckTogether(const TlsOptions& options) {
  if (options.certificate_key_file.empty()) {
    return Bad("need tlsCertificateKeyFile when TLS is enabled");
  }
  if (!options.crl_file.empty() && options.ca_file.empty()) {
    return Bad("need tlsCAFile with tlsCRLFile");
  }
  if (options.ca_file.empty() && !options.system_ca) {
    return Bad(
        "TLS needs authorities that clients' certificates are checked with: tlsCAFile, or the "
        "parameter tlsUseSystemCA");
  }
  return Status::Ok();
}

using Context = std::shared_ptr<SSL_CTX>;

Result<Context> MakeContext(const TlsOptions& options, CertificateFacts* facts) {
  ERR_clear_error();
  Context context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  if (context == nullptr) {
    return Status(kInvalidSSLConfiguration, "OpenSSL cannot start: " + tls::OpenSslError());
  }
  SSL_CTX* raw = context.get();
  RETURN_IF_ERROR(SetProtocols(options.protocols, raw));
  RETURN_IF_ERROR(UseCertificate(options, raw, facts));
  RETURN_IF_ERROR(UseAuthorities(options, raw));
  // Nothing is remembered of a connection: each is checked anew, by the files of its day.
  SSL_CTX_set_session_cache_mode(raw, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(raw, 0);
  SSL_CTX_set_session_id_context(raw, reinterpret_cast<const uint8_t*>(kSessionContext.data()),
                                 kSessionContext.size());
  SSL_CTX_set_mode(raw, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                            SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_read_ahead(raw, 1);
  SSL_CTX_set_max_cert_list(raw, kMaxCertificateBytes);
  return context;
}

}  // namespace

namespace {
constexpr std::pair<std::string_view, TlsMode> kModes[] = {{"disabled", TlsMode::kDisabled},
                                                           {"allowTLS", TlsMode::kAllow},
                                                           {"preferTLS", TlsMode::kPrefer},
                                                           {"requireTLS", TlsMode::kRequire}};
}  // namespace

Result<TlsMode> ParseTlsMode(std::string_view name) {
  for (const auto& [known, mode] : kModes) {
    if (known == name) {
      return mode;
    }
  }
  return Bad("unsupported value for tlsMode " + std::string(name));
}

std::string_view NameOf(TlsMode mode) {
  for (const auto& [name, known] : kModes) {
    if (known == mode) {
      return name;
    }
  }
  return "";
}

Tls::Tls(TlsOptions options) : options_(std::move(options)), mode_(options_.mode) {}
Tls::~Tls() = default;

Result<std::unique_ptr<Tls>> Tls::Load(const TlsOptions& options) {
  RETURN_IF_ERROR(CheckTogether(options));
  std::unique_ptr<Tls> tls(new Tls(options));
  RETURN_IF_ERROR(tls->Rotate());
  return tls;
}

Status Tls::Rotate() {
  CertificateFacts facts;
  ASSIGN_OR_RETURN(Context context, MakeContext(options_, &facts));
  MutexLock lock(mutex_);
  context_ = std::move(context);
  facts_ = std::move(facts);
  return Status::Ok();
}

CertificateFacts Tls::facts() const {
  MutexLock lock(mutex_);
  return facts_;
}

std::shared_ptr<SSL_CTX> Tls::context() const {
  MutexLock lock(mutex_);
  return context_;
}

}  // namespace quire::server
