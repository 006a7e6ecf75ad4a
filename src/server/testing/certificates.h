// SPDX-License-Identifier: Apache-2.0
//
// Certificates for tests and fuzzers, made anew in a folder of their own: nothing that expires is
// kept anywhere.
#pragma once

#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace quire::server {

// A key with its certificate, in memory and (both as PEM) in a file.
class TestCertificate {
 public:
  struct Wish {
    std::string name = "localhost";
    std::string organisation = {};
    const TestCertificate* issuer = nullptr;  // null: its own
    bool authority = false;
    long from = -3600;  // seconds from now
    long until = 3600;
    std::string password = {};  // of the key in the file
  };

  TestCertificate(const std::string& file, const Wish& wish)
      : file_(file), key_(EVP_EC_gen("P-256"), EVP_PKEY_free), x509_(X509_new(), X509_free) {
    static long serial = 1;
    X509_set_version(x509_.get(), X509_VERSION_3);
    serial_ = serial++;
    ASN1_INTEGER_set(X509_get_serialNumber(x509_.get()), serial_);
    X509_gmtime_adj(X509_getm_notBefore(x509_.get()), wish.from);
    X509_gmtime_adj(X509_getm_notAfter(x509_.get()), wish.until);
    X509_NAME* subject = X509_get_subject_name(x509_.get());
    Add(subject, "O", wish.organisation);
    Add(subject, "CN", wish.name);
    const TestCertificate& issuer = wish.issuer == nullptr ? *this : *wish.issuer;
    X509_set_issuer_name(x509_.get(), X509_get_subject_name(issuer.x509_.get()));
    X509_set_pubkey(x509_.get(), key_.get());
    if (wish.authority) {
      X509_EXTENSION* basic =
          X509V3_EXT_conf_nid(nullptr, nullptr, NID_basic_constraints, "critical,CA:TRUE");
      X509_add_ext(x509_.get(), basic, -1);
      X509_EXTENSION_free(basic);
    }
    X509_sign(x509_.get(), issuer.key_.get(), EVP_sha256());
    Write(wish.password);
  }

  const std::string& file() const { return file_; }
  X509* x509() const { return x509_.get(); }
  EVP_PKEY* key() const { return key_.get(); }

  // A list of revoked certificates, this one's, with `revoked` on it.
  void WriteRevoked(const std::string& file, const TestCertificate& revoked) const {
    std::unique_ptr<X509_CRL, void (*)(X509_CRL*)> crl(X509_CRL_new(), X509_CRL_free);
    X509_CRL_set_version(crl.get(), 1);
    X509_CRL_set_issuer_name(crl.get(), X509_get_subject_name(x509_.get()));
    std::unique_ptr<ASN1_TIME, void (*)(ASN1_TIME*)> time(ASN1_TIME_new(), ASN1_TIME_free);
    X509_gmtime_adj(time.get(), -60);
    X509_CRL_set1_lastUpdate(crl.get(), time.get());
    X509_REVOKED* entry = X509_REVOKED_new();
    X509_REVOKED_set_serialNumber(entry, X509_get_serialNumber(revoked.x509_.get()));
    X509_REVOKED_set_revocationDate(entry, time.get());
    X509_CRL_add0_revoked(crl.get(), entry);
    X509_gmtime_adj(time.get(), 3600);
    X509_CRL_set1_nextUpdate(crl.get(), time.get());
    X509_CRL_sign(crl.get(), key_.get(), EVP_sha256());
    FILE* out = fopen(file.c_str(), "w");
    PEM_write_X509_CRL(out, crl.get());
    fclose(out);
  }

 private:
  static void Add(X509_NAME* name, const char* field, const std::string& value) {
    if (!value.empty()) {
      X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8,
                                 reinterpret_cast<const unsigned char*>(value.c_str()), -1, -1, 0);
    }
  }
  void Write(const std::string& password) {
    FILE* out = fopen(file_.c_str(), "w");
    PEM_write_X509(out, x509_.get());
    PEM_write_PKCS8PrivateKey(out, key_.get(), password.empty() ? nullptr : EVP_aes_256_cbc(),
                              password.empty() ? nullptr : password.data(),
                              static_cast<int>(password.size()), nullptr, nullptr);
    fclose(out);
  }

  std::string file_;
  long serial_ = 0;
  std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)> key_;
  std::unique_ptr<X509, void (*)(X509*)> x509_;
};

// A folder that ends with its scope.
class TestFolder {
 public:
  TestFolder() {
    char name[] = "/tmp/quire_certificates.XXXXXX";
    path_ = mkdtemp(name);
  }
  ~TestFolder() { std::filesystem::remove_all(path_); }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  std::string File(std::string_view name) const { return path_ + "/" + std::string(name); }

 private:
  std::string path_;
};

}  // namespace quire::server
