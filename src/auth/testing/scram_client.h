// SPDX-License-Identifier: Apache-2.0
//
// The other side of a login, for tests.
#pragma once

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <string>
#include <string_view>

#include "auth/scram.h"

namespace quire::auth {

inline std::string HmacSha256(std::string_view key, std::string_view text) {
  unsigned char out[32];
  unsigned size = sizeof out;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(), out, &size);
  return {reinterpret_cast<char*>(out), size};
}

inline std::string Sha256(std::string_view text) {
  unsigned char out[32];
  unsigned size = sizeof out;
  EVP_Digest(text.data(), text.size(), out, &size, EVP_sha256(), nullptr);
  return {reinterpret_cast<char*>(out), size};
}

// The client's side of SCRAM-SHA-256 (RFC 7677), by its text.
inline std::string ScramProof(const std::string& first_bare, const std::string& challenge,
                              const std::string& final_bare, std::string_view password) {
  const size_t salt_at = challenge.find(",s=") + 3;
  const size_t count_at = challenge.find(",i=") + 3;
  const std::string salt = *FromBase64(challenge.substr(salt_at, count_at - 3 - salt_at));
  unsigned char salted[32];
  PKCS5_PBKDF2_HMAC(password.data(), static_cast<int>(password.size()),
                    reinterpret_cast<const unsigned char*>(salt.data()),
                    static_cast<int>(salt.size()), std::stoi(challenge.substr(count_at)),
                    EVP_sha256(), sizeof salted, salted);
  const std::string key =
      HmacSha256({reinterpret_cast<char*>(salted), sizeof salted}, "Client Key");
  const std::string signature =
      HmacSha256(Sha256(key), first_bare + "," + challenge + "," + final_bare);
  std::string proof = key;
  for (size_t i = 0; i < proof.size(); ++i) {
    proof[i] = static_cast<char>(proof[i] ^ signature[i]);
  }
  return proof;
}

}  // namespace quire::auth
