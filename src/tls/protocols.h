// SPDX-License-Identifier: Apache-2.0
//
// Which versions and ciphers a side of a TLS connection agrees to.
#pragma once

#include <string>
#include <string_view>

#include "quire/status.h"

struct ssl_ctx_st;

namespace quire::tls {

// The versions of TLS, as bits.
enum Versions : unsigned char { kTls10 = 1, kTls11 = 2, kTls12 = 4, kTls13 = 8 };
// "TLS1_0,TLS1_1", each also with "no" before it, or "none". Error: BadValue.
Result<unsigned> ParseVersions(std::string_view list);

struct Protocols {
  unsigned disabled = kTls10 | kTls11;
  std::string ciphers{};        // OpenSSL's list for TLS 1.2 and before; empty: a good one
  std::string cipher_suites{};  // for TLS 1.3; empty: OpenSSL's
};
// Neither compression nor renegotiation is agreed to. Error: BadValue when every version is
// disabled, InvalidSSLConfiguration for ciphers that OpenSSL does not know.
Status UseProtocols(const Protocols& protocols, ssl_ctx_st* context);

}  // namespace quire::tls
