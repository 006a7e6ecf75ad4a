// SPDX-License-Identifier: Apache-2.0
#include "tls/protocols.h"

#include <gtest/gtest.h>

namespace quire::tls {
namespace {

TEST(Protocols, ListsOfVersions) {
  EXPECT_EQ(*ParseVersions("TLS1_0,noTLS1_2"), unsigned{kTls10 | kTls12});
  EXPECT_EQ(*ParseVersions("none"), 0U);
  EXPECT_FALSE(ParseVersions("TLS1_0,SSL3").ok());
}

}  // namespace
}  // namespace quire::tls
