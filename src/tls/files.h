// SPDX-License-Identifier: Apache-2.0
//
// What both sides of a TLS connection read from files: certificates, keys, authorities and what
// they have revoked. Errors are InvalidSSLConfiguration with the file and OpenSSL's reason.
#pragma once

#include <string>

#include "quire/status.h"

struct ssl_ctx_st;

namespace quire::tls {

// The oldest error OpenSSL has noted on this thread as text; notes are dropped.
std::string OpenSslError();
// "<what> '<file>': <OpenSSL's reason>".
Status Unusable(const std::string& what, const std::string& file);
// The same of a file, which may not be there at all.
Status UnusableFile(const std::string& what, const std::string& file);

// Our own certificate with those above it, and its key: PEM, in one file. `password` is that of
// the key, "" for one that is not encrypted.
Status UseCertificate(const std::string& file, const std::string& password, ssl_ctx_st* context);

// With whose authority the other side's certificates are checked.
struct Authorities {
  std::string file;       // "": none
  bool system = false;    // those of the machine, too
  std::string revoked{};  // a file of revoked certificates; "": none
};
Status UseAuthorities(const Authorities& authorities, ssl_ctx_st* context);

}  // namespace quire::tls
