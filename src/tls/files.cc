// SPDX-License-Identifier: Apache-2.0
#include "tls/files.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string_view>

#include "base/error_codes.h"

namespace quire::tls {

namespace {

// OpenSSL's callback for the password of an encrypted key.
int GivePassword(char* out, int size, int /*writing*/, void* password) {
  const auto& text = *static_cast<const std::string*>(password);
  if (text.empty() || text.size() > static_cast<size_t>(size)) {
    return -1;
  }
  memcpy(out, text.data(), text.size());
  return static_cast<int>(text.size());
}

bool Holds(const std::string& file, std::string_view text) {
  std::ifstream in(file);
  const std::string all((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  return all.find(text) != std::string::npos;
}

Status UseRevoked(const std::string& file, SSL_CTX* context) {
  X509_STORE* store = SSL_CTX_get_cert_store(context);
  X509_LOOKUP* lookup = X509_STORE_add_lookup(store, X509_LOOKUP_file());
  if (lookup == nullptr || X509_load_crl_file(lookup, file.c_str(), X509_FILETYPE_PEM) < 1) {
    return UnusableFile("cannot read the revoked certificates in", file);
  }
  X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK);
  return Status::Ok();
}

}  // namespace

std::string OpenSslError() {
  const unsigned long error = ERR_get_error();  // NOLINT(google-runtime-int): OpenSSL's
  const char* reason = ERR_reason_error_string(error);
  std::string text = reason != nullptr ? reason : "unknown error";
  ERR_clear_error();
  return text;
}

Status Unusable(const std::string& what, const std::string& file) {
  return {kInvalidSSLConfiguration, what + " '" + file + "': " + OpenSslError()};
}

Status UnusableFile(const std::string& what, const std::string& file) {
  const Status unusable = Unusable(what, file);
  return access(file.c_str(), R_OK) == 0
             ? unusable
             : Status(kInvalidSSLConfiguration, what + " '" + file + "': " + strerror(errno));
}

Status UseCertificate(const std::string& file, const std::string& password, SSL_CTX* context) {
  SSL_CTX_set_default_passwd_cb(context, GivePassword);
  SSL_CTX_set_default_passwd_cb_userdata(context, const_cast<std::string*>(&password));
  if (SSL_CTX_use_certificate_chain_file(context, file.c_str()) != 1) {
    return UnusableFile("cannot read the certificate in", file);
  }
  const bool has_key = SSL_CTX_use_PrivateKey_file(context, file.c_str(), SSL_FILETYPE_PEM) == 1;
  SSL_CTX_set_default_passwd_cb_userdata(context, nullptr);
  SSL_CTX_set_default_passwd_cb(context, nullptr);
  if (!has_key) {
    const std::string what = "cannot read the private key in";
    const Status unusable = Unusable(what, file);
    return Holds(file, "PRIVATE KEY-----")
               ? unusable
               : Status(kInvalidSSLConfiguration, what + " '" + file + "': the file holds none");
  }
  if (SSL_CTX_check_private_key(context) != 1) {
    return Unusable("the private key is not that of the certificate in", file);
  }
  return Status::Ok();
}

Status UseAuthorities(const Authorities& authorities, SSL_CTX* context) {
  if (authorities.system && SSL_CTX_set_default_verify_paths(context) != 1) {
    return {kInvalidSSLConfiguration, "cannot use the system's authorities: " + OpenSslError()};
  }
  const std::string& file = authorities.file;
  if (!file.empty() && SSL_CTX_load_verify_locations(context, file.c_str(), nullptr) != 1) {
    return UnusableFile("cannot read the authorities in", file);
  }
  return authorities.revoked.empty() ? Status::Ok() : UseRevoked(authorities.revoked, context);
}

}  // namespace quire::tls
