// SPDX-License-Identifier: Apache-2.0
//
// What is read from certificates.
#pragma once

#include <cstdint>
#include <string>

#include "quire/status.h"

using X509 = struct x509_st;

namespace quire::server {

// The subject as RFC 2253 writes it, last part first, in UTF-8: the name of the user.
std::string SubjectOf(X509* certificate);
// Whether both belong to the same organisation: the same O, OU and DC, and at least one of them.
bool SameOrganisation(X509* a, X509* b);
// The end of its time, in milliseconds since 1970.
int64_t ExpiryOf(X509* certificate);
// InvalidSSLConfiguration when its time has not begun or is over.
Status CheckTime(X509* certificate);

}  // namespace quire::server
