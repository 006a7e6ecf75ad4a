// SPDX-License-Identifier: Apache-2.0
#include "tls/protocols.h"

#include <openssl/ssl.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>

#include "base/error_codes.h"
#include "tls/files.h"

namespace quire::tls {

namespace {

// Keys that nobody can find out later, and ciphers that cannot be changed on the way.
constexpr const char* kGoodCiphers =
    "ECDHE+AESGCM:ECDHE+CHACHA20:DHE+AESGCM:DHE+CHACHA20:!aNULL:!eNULL";

struct Version {
  std::string_view name;
  Versions bit;
  uint64_t off;  // OpenSSL's option
};
constexpr Version kVersions[] = {{"TLS1_0", kTls10, SSL_OP_NO_TLSv1},
                                 {"TLS1_1", kTls11, SSL_OP_NO_TLSv1_1},
                                 {"TLS1_2", kTls12, SSL_OP_NO_TLSv1_2},
                                 {"TLS1_3", kTls13, SSL_OP_NO_TLSv1_3}};

}  // namespace

Result<unsigned> ParseVersions(std::string_view list) {
  unsigned out = 0;
  while (!list.empty()) {
    std::string_view item = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), item.size() + 1));
    std::string_view bare = item.starts_with("no") && item != "none" ? item.substr(2) : item;
    const auto* found = std::find_if(std::begin(kVersions), std::end(kVersions),
                                     [&](const Version& version) { return version.name == bare; });
    if (found != std::end(kVersions)) {
      out |= found->bit;
    } else if (item != "none") {
      return Status(kBadValue, "Unrecognized disabledProtocols '" + std::string(item) + "'");
    }
  }
  return out;
}

Status UseProtocols(const Protocols& protocols, SSL_CTX* context) {
  constexpr unsigned kAll = kTls10 | kTls11 | kTls12 | kTls13;
  if ((protocols.disabled & kAll) == kAll) {
    return {kBadValue, "every version of TLS is disabled"};
  }
  uint64_t flags = SSL_OP_NO_SSLv3 | SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION;
  for (const Version& version : kVersions) {
    flags |= (protocols.disabled & version.bit) != 0 ? version.off : 0;
  }
  // The system's own lower bound counts for nothing: what is not disabled is on.
  SSL_CTX_set_min_proto_version(context, TLS1_VERSION);
  SSL_CTX_set_options(context, flags);
  const std::string& ciphers = protocols.ciphers;
  if (SSL_CTX_set_cipher_list(context, ciphers.empty() ? kGoodCiphers : ciphers.c_str()) != 1) {
    return Unusable("opensslCipherConfig", ciphers);
  }
  const std::string& suites = protocols.cipher_suites;
  if (!suites.empty() && SSL_CTX_set_ciphersuites(context, suites.c_str()) != 1) {
    return Unusable("opensslCipherSuiteConfig", suites);
  }
  return Status::Ok();
}

}  // namespace quire::tls
