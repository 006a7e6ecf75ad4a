// SPDX-License-Identifier: Apache-2.0
#include "server/tls.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error_codes.h"
#include "base/try.h"
#include "server/certificate_internal.h"

namespace quire::server {
namespace {

// Keys that nobody can find out later, and ciphers that cannot be changed on the way.
constexpr const char* kGoodCiphers =
    "ECDHE+AESGCM:ECDHE+CHACHA20:DHE+AESGCM:DHE+CHACHA20:!aNULL:!eNULL";
// Of a client's certificate and those above it.
constexpr int kMaxCertificateBytes = 64 << 10;
constexpr std::string_view kSessionContext = "quire";

Status Bad(std::string text) { return {kBadValue, std::move(text)}; }

Status Unusable(const std::string& what, const std::string& file) {
  return {kInvalidSSLConfiguration, what + " '" + file + "': " + OpenSslError()};
}

// OpenSSL's callback for the password of an encrypted key.
int GivePassword(char* out, int size, int /*writing*/, void* password) {
  const auto& text = *static_cast<const std::string*>(password);
  if (text.empty() || text.size() > static_cast<size_t>(size)) {
    return -1;
  }
  memcpy(out, text.data(), text.size());
  return static_cast<int>(text.size());
}

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
    return Unusable("opensslCipherConfig", ciphers);
  }
  const std::string& suites = options.cipher_suites;
  if (!suites.empty() && SSL_CTX_set_ciphersuites(context, suites.c_str()) != 1) {
    return Unusable("opensslCipherSuiteConfig", suites);
  }
  SSL_CTX_set_dh_auto(context, 1);
  return Status::Ok();
}

Status UseCertificate(const TlsOptions& options, SSL_CTX* context, CertificateFacts* facts) {
  const std::string& file = options.certificate_key_file;
  if (SSL_CTX_use_certificate_chain_file(context, file.c_str()) != 1) {
    return Unusable("cannot read the certificate in", file);
  }
  if (SSL_CTX_use_PrivateKey_file(context, file.c_str(), SSL_FILETYPE_PEM) != 1) {
    return Unusable("cannot read the private key in", file);
  }
  if (SSL_CTX_check_private_key(context) != 1) {
    return Unusable("the private key is not that of the certificate in", file);
  }
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
  if (options.system_ca && SSL_CTX_set_default_verify_paths(context) != 1) {
    return {kInvalidSSLConfiguration, "cannot use the system's authorities: " + OpenSslError()};
  }
  const std::string& file = options.ca_file;
  if (!file.empty()) {
    STACK_OF(X509_NAME)* names = SSL_load_client_CA_file(file.c_str());
    if (names == nullptr || SSL_CTX_load_verify_locations(context, file.c_str(), nullptr) != 1) {
      sk_X509_NAME_pop_free(names, X509_NAME_free);
      return Unusable("cannot read the authorities in", file);
    }
    SSL_CTX_set_client_CA_list(context, names);
  }
  if (options.crl_file.empty()) {
    return Status::Ok();
  }
  X509_STORE* store = SSL_CTX_get_cert_store(context);
  X509_LOOKUP* lookup = X509_STORE_add_lookup(store, X509_LOOKUP_file());
  if (lookup == nullptr ||
      X509_load_crl_file(lookup, options.crl_file.c_str(), X509_FILETYPE_PEM) < 1) {
    return Unusable("cannot read the revoked certificates in", options.crl_file);
  }
  X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK);
  return Status::Ok();
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
    return Status(kInvalidSSLConfiguration, "OpenSSL cannot start: " + OpenSslError());
  }
  SSL_CTX* raw = context.get();
  SSL_CTX_set_default_passwd_cb(raw, GivePassword);
  SSL_CTX_set_default_passwd_cb_userdata(raw, const_cast<std::string*>(&options.key_password));
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
