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

// Keys that nobody can find out later, and ciphers that cannot be changed on the way.
constexpr const char* kGoodCiphers =
    "ECDHE+AESGCM:ECDHE+CHACHA20:DHE+AESGCM:DHE+CHACHA20:!aNULL:!eNULL";
// Of a client's certificate and those above it.
constexpr int kMaxCertificateBytes = 64 << 10;
constexpr std::string_view kSessionContext = "quire";

Status Bad(std::string text) { return {kBadValue, std::move(text)}; }

constexpr std::pair<TlsVersions, uint64_t> kSwitches[] = {{kTls10, SSL_OP_NO_TLSv1},
                                                          {kTls11, SSL_OP_NO_TLSv1_1},
                                                          {kTls12, SSL_OP_NO_TLSv1_2},
                                                          {kTls13, SSL_OP_NO_TLSv1_3}};

Status SetProtocols(const TlsOptions& options, SSL_CTX* context) {
  constexpr unsigned kAll = kTls10 | kTls11 | kTls12 | kTls13;
  if ((options.disabled & kAll) == kAll) {
    return Bad("every version of TLS is disabled");
  }
  uint64_t flags = SSL_OP_NO_SSLv3 | SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION |
                   SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_NO_TICKET;
  for (auto [version, flag] : kSwitches) {
    flags |= (options.disabled & version) != 0 ? flag : 0;
  }
  // The system's own lower bound counts for nothing: what is not disabled is on.
  SSL_CTX_set_min_proto_version(context, TLS1_VERSION);
  SSL_CTX_set_options(context, flags);
  const std::string& ciphers = options.ciphers;
  if (SSL_CTX_set_cipher_list(context, ciphers.empty() ? kGoodCiphers : ciphers.c_str()) != 1) {
    return tls::Unusable("opensslCipherConfig", ciphers);
  }
  const std::string& suites = options.cipher_suites;
  if (!suites.empty() && SSL_CTX_set_ciphersuites(context, suites.c_str()) != 1) {
    return tls::Unusable("opensslCipherSuiteConfig", suites);
  }
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
      return tls::Unusable("cannot read the authorities in", file);
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
  RETURN_IF_ERROR(SetProtocols(options, raw));
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

Result<unsigned> ParseTlsVersions(std::string_view list) {
  constexpr std::pair<std::string_view, TlsVersions> kNames[] = {
      {"TLS1_0", kTls10}, {"TLS1_1", kTls11}, {"TLS1_2", kTls12}, {"TLS1_3", kTls13}};
  unsigned out = 0;
  while (!list.empty()) {
    std::string_view item = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), item.size() + 1));
    std::string_view bare = item.starts_with("no") && item != "none" ? item.substr(2) : item;
    const auto* found = std::find_if(std::begin(kNames), std::end(kNames),
                                     [&](const auto& row) { return row.first == bare; });
    if (found != std::end(kNames)) {
      out |= found->second;
    } else if (item != "none") {
      return Bad("Unrecognized disabledProtocols '" + std::string(item) + "'");
    }
  }
  return out;
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
