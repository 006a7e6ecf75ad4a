// SPDX-License-Identifier: Apache-2.0
#include "serve/peers.h"

#include <fstream>
#include <iterator>

#include "auth/key_file.h"
#include "base/error_codes.h"
#include "base/try.h"
#include "coord/etcd/etcd_store.h"
#include "server/tls.h"

namespace quire::apps {

namespace {

// Without the end of its last line.
Result<std::string> ReadPassword(const std::string& path) {
  std::ifstream file(path);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file.good() && !file.eof()) {
    return Status(kFileNotOpen, "--coordPasswordFile: cannot read '" + path + "'");
  }
  text.erase(text.find_last_not_of("\r\n") + 1);
  return text;
}

}  // namespace

Result<std::unique_ptr<coord::Store>> OpenCoordination(const Settings& s) {
  coord::EtcdOptions options;
  options.servers = s.coord;
  options.user = s.coord_user;
  if (!s.coord_password_file.empty()) {
    ASSIGN_OR_RETURN(options.password, ReadPassword(s.coord_password_file));
  }
  options.ca_file = s.coord_ca_file;
  options.certificate_file = s.coord_certificate_file;
  options.key_file = s.coord_key_file;
  return coord::OpenEtcd(options);
}

Result<tls::Protocols> TlsProtocols(const Settings& s, command::Commands& commands) {
  const auto& parameters = commands.tls_parameters;
  tls::Protocols protocols{
      .ciphers = parameters.ciphers.empty() ? s.tls_ciphers : parameters.ciphers,
      .cipher_suites = parameters.cipher_suites};
  if (!s.tls_disabled_protocols.empty()) {
    ASSIGN_OR_RETURN(protocols.disabled, tls::ParseVersions(s.tls_disabled_protocols));
  }
  return protocols;
}

Result<peer::PoolOptions> PeerOptions(const Settings& s, command::Commands& commands) {
  peer::PoolOptions options;
  options.application = commands.info().router ? "quire router" : "quire " + s.repl_set;
  ASSIGN_OR_RETURN(const server::TlsMode mode,
                   server::ParseTlsMode(s.tls_mode.empty() ? "disabled" : s.tls_mode));
  options.tls.enabled = mode == server::TlsMode::kPrefer || mode == server::TlsMode::kRequire;
  options.tls.certificate_key_file = s.tls_certificate_key_file;
  options.tls.key_password = s.tls_key_password;
  options.tls.ca_file = s.tls_ca_file;
  options.tls.crl_file = s.tls_crl_file;
  options.tls.system_ca = commands.tls_parameters.system_ca;
  options.tls.allow_invalid_certificates = s.tls_invalid_certificates;
  options.tls.allow_invalid_host_names = s.tls_invalid_hostnames;
  ASSIGN_OR_RETURN(options.tls.protocols, TlsProtocols(s, commands));
  if (s.cluster_auth_mode == "x509") {
    options.login.kind = peer::Login::Kind::kCertificate;
  } else if (!s.key_file.empty()) {
    options.login.kind = peer::Login::Kind::kKey;
    ASSIGN_OR_RETURN(options.login.key, auth::ReadKeyFile(s.key_file));
  }
  return options;
}

}  // namespace quire::apps
