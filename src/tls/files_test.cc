// SPDX-License-Identifier: Apache-2.0
#include "tls/files.h"

#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include <memory>

#include "base/error_codes.h"

namespace quire::tls {
namespace {

TEST(Files, OnesThatAreNotThereAreSaidNotToBe) {
  const std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context(SSL_CTX_new(TLS_server_method()),
                                                             SSL_CTX_free);
  const std::string gone = "/nonexistent";
  for (const Status& status :
       {UseCertificate(gone, "", context.get()), UseAuthorities({.file = gone}, context.get()),
        UseAuthorities({.file = "", .revoked = gone}, context.get())}) {
    EXPECT_EQ(status.code(), kInvalidSSLConfiguration);
    EXPECT_NE(status.message().find("'/nonexistent': No such file"), std::string::npos)
        << status.message();
  }
}

}  // namespace
}  // namespace quire::tls
