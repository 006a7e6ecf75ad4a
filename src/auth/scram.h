// SPDX-License-Identifier: Apache-2.0
//
// SCRAM (RFC 5802, RFC 7677) as both sides speak it, with the passwords MongoDB derives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "quire/bson.h"
#include "quire/status.h"

namespace quire::auth {

enum class Mechanism : unsigned char { kScramSha1, kScramSha256 };

std::string_view MechanismName(Mechanism mechanism);
std::optional<Mechanism> FindMechanism(std::string_view name);

// What is stored of a password.
struct Credential {
  int32_t iterations = 0;
  std::string salt;
  std::string stored_key;
  std::string server_key;
};

// With a new random salt. `digested`: the password was already hashed by the client (SCRAM-SHA-1
// only). Error: BadValue for a password that SASLprep refuses.
Result<Credential> MakeCredential(Mechanism mechanism, std::string_view user,
                                  std::string_view password, bool digested);

// {iterationCount, salt, storedKey, serverKey}, the keys in base64.
bson::Document CredentialDocument(const Credential& credential);
std::optional<Credential> ReadCredential(bson::View document);

// What stands for a user in the keys of its sessions: 32 bytes.
std::string UserDigest(std::string_view user, std::string_view database);

// What a login of a user that does not exist is answered with: the same whenever `secret` is the
// same, in nothing different from a stored one, and no password fits.
Credential StandInCredential(Mechanism mechanism, std::string_view secret, std::string_view user);

std::string RandomBytes(size_t count);
// Numbers that nobody without the secret can foresee.
uint64_t KeyedHash(std::string_view secret, std::string_view text);

std::string Base64(std::string_view bytes);
std::optional<std::string> FromBase64(std::string_view text);

// One login: the client's first message, the server's challenge, the client's proof, the server's
// signature.
class ScramServer {
 public:
  explicit ScramServer(Mechanism mechanism) : mechanism_(mechanism) {}

  // Reads "n,,n=user,r=nonce". Error: BadValue for a malformed message.
  Status ReadFirst(std::string_view message);
  const std::string& user() const { return user_; }

  // The challenge "r=...,s=...,i=...". REQUIRES: ReadFirst succeeded.
  std::string Challenge(Credential credential);

  // Checks "c=...,r=...,p=..."; gives the signature "v=...". Error: AuthenticationFailed, BadValue.
  Result<std::string> Verify(std::string_view message);

 private:
  Mechanism mechanism_;
  std::string gs2_header_;
  std::string user_;
  std::string client_first_bare_;
  std::string nonce_;
  std::string server_first_;
  Credential credential_;
};

// Passwords as a challenge's salt and iterations make them: costly, and the same for every login at
// one server.
using SaltedPasswords = std::map<std::string, std::string>;

// The client's side of a login by SCRAM-SHA-256.
class ScramClient {
 public:
  // Error: BadValue for a password that SASLprep refuses.
  static Result<ScramClient> Make(std::string_view user, std::string_view password);

  std::string First() const { return "n,," + first_bare_; }
  // The proof for "r=...,s=...,i=...". `known` is looked at and added to. Error:
  // AuthenticationFailed for a challenge that no honest server gives.
  Result<std::string> Prove(std::string_view challenge, SaltedPasswords* known);
  // Whether "v=..." was made by somebody who knows the password. Error: AuthenticationFailed.
  Status CheckSignature(std::string_view message) const;

 private:
  ScramClient(std::string password, std::string first_bare, std::string nonce);

  std::string password_;
  std::string first_bare_;
  std::string nonce_;
  std::string signature_;
};

}  // namespace quire::auth
