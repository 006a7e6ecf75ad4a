// SPDX-License-Identifier: Apache-2.0
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/x509.h>

#include <algorithm>
#include <ctime>
#include <memory>
#include <utility>
#include <vector>

#include "base/error_codes.h"
#include "server/certificate_internal.h"

namespace quire::server {
namespace {

// The attributes that name an organisation, as (kind, value) in order.
std::vector<std::pair<int, std::string>> Organisation(X509* certificate) {
  std::vector<std::pair<int, std::string>> out;
  X509_NAME* name = X509_get_subject_name(certificate);
  for (int i = 0; i < X509_NAME_entry_count(name); ++i) {
    X509_NAME_ENTRY* entry = X509_NAME_get_entry(name, i);
    int kind = OBJ_obj2nid(X509_NAME_ENTRY_get_object(entry));
    if (kind != NID_organizationName && kind != NID_organizationalUnitName &&
        kind != NID_domainComponent) {
      continue;
    }
    unsigned char* text = nullptr;
    int size = ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(entry));
    if (size >= 0) {
      out.emplace_back(kind, std::string(reinterpret_cast<char*>(text), static_cast<size_t>(size)));
      OPENSSL_free(text);
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

std::string SubjectOf(X509* certificate) {
  std::unique_ptr<BIO, int (*)(BIO*)> text(BIO_new(BIO_s_mem()), BIO_free);
  constexpr unsigned long kForm =  // NOLINT(google-runtime-int): OpenSSL's
      XN_FLAG_RFC2253 & ~static_cast<unsigned long>(ASN1_STRFLGS_ESC_MSB);  // NOLINT
  if (text == nullptr ||
      X509_NAME_print_ex(text.get(), X509_get_subject_name(certificate), 0, kForm) < 0) {
    return "";
  }
  char* data = nullptr;
  auto size = static_cast<size_t>(BIO_get_mem_data(text.get(), &data));
  return {data, size};
}

bool SameOrganisation(X509* a, X509* b) {
  auto organisation = Organisation(a);
  return !organisation.empty() && organisation == Organisation(b);
}

int64_t ExpiryOf(X509* certificate) {
  tm time{};
  if (ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &time) != 1) {
    return 0;
  }
  return int64_t{timegm(&time)} * 1000;
}

Status CheckTime(X509* certificate) {
  if (X509_cmp_current_time(X509_get0_notBefore(certificate)) >= 0 ||
      X509_cmp_current_time(X509_get0_notAfter(certificate)) <= 0) {
    return {kInvalidSSLConfiguration, "the certificate is expired or not yet valid"};
  }
  return Status::Ok();
}

}  // namespace quire::server
