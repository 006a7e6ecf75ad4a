// SPDX-License-Identifier: Apache-2.0
#include "auth/scram.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>
#include <unicode/usprep.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/hash/md5.h"

namespace quire::auth {
namespace {

struct Family {
  std::string_view name;
  const EVP_MD* (*hash)();
  int32_t iterations;
  size_t salt_bytes;
};

const Family& FamilyOf(Mechanism mechanism) {
  static const Family kSha1 = {"SCRAM-SHA-1", EVP_sha1, 10000, 16};
  static const Family kSha256 = {"SCRAM-SHA-256", EVP_sha256, 15000, 28};
  return mechanism == Mechanism::kScramSha1 ? kSha1 : kSha256;
}

const unsigned char* Bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

std::string Hmac(const EVP_MD* hash, std::string_view key, std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> out;
  unsigned int size = 0;
  HMAC(hash, key.data(), static_cast<int>(key.size()), Bytes(text), text.size(), out.data(), &size);
  return {reinterpret_cast<const char*>(out.data()), size};
}

std::string Hash(const EVP_MD* hash, std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> out;
  unsigned int size = 0;
  EVP_Digest(text.data(), text.size(), out.data(), &size, hash, nullptr);
  return {reinterpret_cast<const char*>(out.data()), size};
}

std::string Hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (char c : bytes) {
    out.push_back(kDigits[static_cast<unsigned char>(c) >> 4]);
    out.push_back(kDigits[static_cast<unsigned char>(c) & 15]);
  }
  return out;
}

// The form of a password that SCRAM-SHA-1 has in MongoDB.
std::string Digest(std::string_view user, std::string_view password) {
  bson::Md5 md5;
  md5.Add(user);
  md5.Add(":mongo:");
  md5.Add(password);
  auto bytes = md5.Finish();
  return Hex({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

// RFC 4013. ASCII passwords stay as they are.
Result<std::string> SaslPrep(std::string_view password) {
  bool ascii = true;
  for (char c : password) {
    ascii = ascii && static_cast<unsigned char>(c) >= 0x20 && static_cast<unsigned char>(c) < 0x7f;
  }
  if (ascii) {
    return std::string(password);
  }
  UErrorCode error = U_ZERO_ERROR;
  UStringPrepProfile* profile = usprep_openByType(USPREP_RFC4013_SASLPREP, &error);
  icu::UnicodeString in = icu::UnicodeString::fromUTF8(
      icu::StringPiece(password.data(), static_cast<int32_t>(password.size())));
  std::u16string buffer(static_cast<size_t>(in.length()) * 4 + 16, u'\0');
  int32_t size = 0;
  if (U_SUCCESS(error)) {
    size = usprep_prepare(profile, in.getBuffer(), in.length(), buffer.data(),
                          static_cast<int32_t>(buffer.size()), USPREP_DEFAULT, nullptr, &error);
    usprep_close(profile);
  }
  if (U_FAILURE(error)) {
    return Status(kBadValue, "Error preflighting normalization: the password is not permitted");
  }
  std::string out;
  icu::UnicodeString(buffer.data(), size).toUTF8String(out);
  return out;
}

// The value of attribute `name` in "a=1,b=2"; nothing when it is not the next one.
std::optional<std::string_view> TakeAttribute(std::string_view* message, char name) {
  if (message->size() < 2 || (*message)[0] != name || (*message)[1] != '=') {
    return std::nullopt;
  }
  size_t comma = message->find(',');
  std::string_view value = message->substr(2, comma == std::string_view::npos ? comma : comma - 2);
  message->remove_prefix(comma == std::string_view::npos ? message->size() : comma + 1);
  return value;
}

// Undoes the escapes of a user name: =2C is a comma, =3D an equals sign.
std::optional<std::string> DecodeName(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '=') {
      out.push_back(text[i]);
      continue;
    }
    std::string_view code = text.substr(i + 1, 2);
    if (code != "2C" && code != "3D") {
      return std::nullopt;
    }
    out.push_back(code == "2C" ? ',' : '=');
    i += 2;
  }
  return out;
}

// "," and "=" would end the name.
std::string EncodeName(std::string_view name) {
  std::string out;
  for (char c : name) {
    if (c == ',') {
      out += "=2C";
    } else if (c == '=') {
      out += "=3D";
    } else {
      out.push_back(c);
    }
  }
  return out;
}

std::string Salted(const Family& family, std::string_view secret, std::string_view salt,
                   int32_t iterations) {
  std::string out(static_cast<size_t>(EVP_MD_get_size(family.hash())), '\0');
  PKCS5_PBKDF2_HMAC(secret.data(), static_cast<int>(secret.size()), Bytes(salt),
                    static_cast<int>(salt.size()), iterations, family.hash(),
                    static_cast<int>(out.size()), reinterpret_cast<unsigned char*>(out.data()));
  return out;
}

bool SameBytes(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace

std::string_view MechanismName(Mechanism mechanism) { return FamilyOf(mechanism).name; }

std::optional<Mechanism> FindMechanism(std::string_view name) {
  for (Mechanism mechanism : {Mechanism::kScramSha1, Mechanism::kScramSha256}) {
    if (MechanismName(mechanism) == name) {
      return mechanism;
    }
  }
  return std::nullopt;
}

Result<Credential> MakeCredential(Mechanism mechanism, std::string_view user,
                                  std::string_view password, bool digested) {
  const Family& family = FamilyOf(mechanism);
  std::string secret;
  if (mechanism == Mechanism::kScramSha1) {
    secret = digested ? std::string(password) : Digest(user, password);
  } else {
    ASSIGN_OR_RETURN(secret, SaslPrep(password));
  }
  Credential out;
  out.iterations = family.iterations;
  out.salt = RandomBytes(family.salt_bytes);
  const std::string salted = Salted(family, secret, out.salt, out.iterations);
  out.stored_key = Hash(family.hash(), Hmac(family.hash(), salted, "Client Key"));
  out.server_key = Hmac(family.hash(), salted, "Server Key");
  return out;
}

std::string RandomBytes(size_t count) {
  std::string out(count, '\0');
  if (RAND_bytes(reinterpret_cast<unsigned char*>(out.data()), static_cast<int>(count)) != 1) {
    OPENSSL_die("no randomness", __FILE__, __LINE__);
  }
  return out;
}

uint64_t KeyedHash(std::string_view secret, std::string_view text) {
  uint64_t number = 0;
  memcpy(&number, Hmac(EVP_sha256(), secret, text).data(), sizeof number);
  return number;
}

Credential StandInCredential(Mechanism mechanism, std::string_view secret, std::string_view user) {
  const Family& family = FamilyOf(mechanism);
  auto part = [&](std::string_view name) {
    std::string text(name);
    text += family.name;
    text += '\0';
    text += user;
    return Hmac(EVP_sha256(), secret, text);
  };
  const auto size = static_cast<size_t>(EVP_MD_get_size(family.hash()));
  Credential out;
  out.iterations = family.iterations;
  out.salt = part("salt").substr(0, family.salt_bytes);
  out.stored_key = part("stored").substr(0, size);
  out.server_key = part("server").substr(0, size);
  return out;
}

bson::Document CredentialDocument(const Credential& credential) {
  bson::Builder out;
  out.Append("iterationCount", credential.iterations)
      .Append("salt", Base64(credential.salt))
      .Append("storedKey", Base64(credential.stored_key))
      .Append("serverKey", Base64(credential.server_key));
  return out.Finish();
}

std::optional<Credential> ReadCredential(bson::View document) {
  Credential out;
  bson::Value iterations = document["iterationCount"];
  if (iterations.type() != bson::Type::kInt32) {
    return std::nullopt;
  }
  out.iterations = iterations.AsInt32();
  for (auto [name, target] : {std::pair<std::string_view, std::string*>{"salt", &out.salt},
                              {"storedKey", &out.stored_key},
                              {"serverKey", &out.server_key}}) {
    bson::Value text = document[name];
    std::optional<std::string> bytes;
    if (text.is_string()) {
      bytes = FromBase64(text.AsString());
    }
    if (!bytes) {
      return std::nullopt;
    }
    *target = *std::move(bytes);
  }
  return out;
}

std::string UserDigest(std::string_view user, std::string_view database) {
  return Hash(EVP_sha256(), std::string(user) + "@" + std::string(database));
}

std::string Base64(std::string_view bytes) {
  std::string out((bytes.size() + 2) / 3 * 4 + 1, '\0');
  int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()), Bytes(bytes),
                             static_cast<int>(bytes.size()));
  out.resize(static_cast<size_t>(size));
  return out;
}

std::optional<std::string> FromBase64(std::string_view text) {
  if (text.size() % 4 != 0) {
    return std::nullopt;
  }
  std::string out(text.size() / 4 * 3, '\0');
  int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()), Bytes(text),
                             static_cast<int>(text.size()));
  if (size < 0) {
    return std::nullopt;
  }
  size_t padding = text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
  out.resize(static_cast<size_t>(size) - padding);
  return out;
}

Status ScramServer::ReadFirst(std::string_view message) {
  Status malformed(kBadValue, "Incorrect number of arguments for first SCRAM client message");
  size_t binding = message.find(',');
  size_t end = binding == std::string_view::npos ? binding : message.find(',', binding + 1);
  if (end == std::string_view::npos || (message[0] != 'n' && message[0] != 'y')) {
    return malformed;
  }
  gs2_header_ = message.substr(0, end + 1);
  client_first_bare_ = message.substr(end + 1);
  std::string_view rest = client_first_bare_;
  auto name = TakeAttribute(&rest, 'n');
  auto nonce = TakeAttribute(&rest, 'r');
  if (!name || !nonce || nonce->empty()) {
    return malformed;
  }
  std::optional<std::string> user = DecodeName(*name);
  if (!user) {
    return malformed;
  }
  user_ = *std::move(user);
  nonce_ = *nonce;
  return Status::Ok();
}

std::string ScramServer::Challenge(Credential credential) {
  constexpr size_t kNonceBytes = 24;
  credential_ = std::move(credential);
  nonce_ += Base64(RandomBytes(kNonceBytes));
  server_first_ = "r=" + nonce_ + ",s=" + Base64(credential_.salt) +
                  ",i=" + std::to_string(credential_.iterations);
  return server_first_;
}

Result<std::string> ScramServer::Verify(std::string_view message) {
  std::string_view rest = message;
  auto binding = TakeAttribute(&rest, 'c');
  auto nonce = TakeAttribute(&rest, 'r');
  size_t proof_at = message.rfind(",p=");
  if (!binding || !nonce || proof_at == std::string_view::npos) {
    return Status(kBadValue, "Incorrect number of arguments for second SCRAM client message");
  }
  std::string_view proof_text = message.substr(proof_at + 3);
  Status refused(kAuthenticationFailed, "Authentication failed.");
  if (*nonce != nonce_ || *binding != Base64(gs2_header_)) {
    return refused;
  }
  const EVP_MD* hash = FamilyOf(mechanism_).hash();
  std::string signed_text =
      client_first_bare_ + "," + server_first_ + "," + std::string(message.substr(0, proof_at));
  std::string signature = Hmac(hash, credential_.stored_key, signed_text);
  std::optional<std::string> key = FromBase64(proof_text);
  if (!key || key->size() != signature.size()) {
    return refused;
  }
  for (size_t i = 0; i < key->size(); ++i) {
    (*key)[i] = static_cast<char>((*key)[i] ^ signature[i]);
  }
  if (!SameBytes(Hash(hash, *key), credential_.stored_key)) {
    return refused;
  }
  return "v=" + Base64(Hmac(hash, credential_.server_key, signed_text));
}

ScramClient::ScramClient(std::string password, std::string first_bare, std::string nonce)
    : password_(std::move(password)),
      first_bare_(std::move(first_bare)),
      nonce_(std::move(nonce)) {}

Result<ScramClient> ScramClient::Make(std::string_view user, std::string_view password) {
  constexpr size_t kNonceBytes = 24;
  ASSIGN_OR_RETURN(std::string prepared, SaslPrep(password));
  std::string nonce = Base64(RandomBytes(kNonceBytes));
  std::string first = "n=" + EncodeName(user) + ",r=" + nonce;
  return ScramClient(std::move(prepared), std::move(first), std::move(nonce));
}

Result<std::string> ScramClient::Prove(std::string_view challenge, SaltedPasswords* known) {
  // Fewer are guessed too easily by whoever pretends to be the server; more keep us busy.
  constexpr int kLeastIterations = 4096;
  constexpr int kMostIterations = 1'000'000;
  Status refused(kAuthenticationFailed, "The server's SCRAM challenge is not valid");
  std::string_view rest = challenge;
  auto nonce = TakeAttribute(&rest, 'r');
  auto salt_text = TakeAttribute(&rest, 's');
  auto iterations_text = TakeAttribute(&rest, 'i');
  if (!nonce || !salt_text || !iterations_text || !nonce->starts_with(nonce_) ||
      nonce->size() == nonce_.size()) {
    return refused;
  }
  const std::optional<std::string> salt = FromBase64(*salt_text);
  const int iterations = atoi(std::string(*iterations_text).c_str());
  if (!salt || iterations < kLeastIterations || iterations > kMostIterations) {
    return refused;
  }
  const Family& family = FamilyOf(Mechanism::kScramSha256);
  std::string& salted = (*known)[std::string(*salt_text) + "," + std::string(*iterations_text)];
  if (salted.empty()) {
    salted = Salted(family, password_, *salt, iterations);
  }
  const std::string without_proof = "c=" + Base64("n,,") + ",r=" + std::string(*nonce);
  const std::string signed_text = first_bare_ + "," + std::string(challenge) + "," + without_proof;
  std::string proof = Hmac(family.hash(), salted, "Client Key");
  const std::string mask = Hmac(family.hash(), Hash(family.hash(), proof), signed_text);
  for (size_t i = 0; i < proof.size(); ++i) {
    proof[i] = static_cast<char>(proof[i] ^ mask[i]);
  }
  signature_ = Hmac(family.hash(), Hmac(family.hash(), salted, "Server Key"), signed_text);
  return without_proof + ",p=" + Base64(proof);
}

Status ScramClient::CheckSignature(std::string_view message) const {
  const std::optional<std::string> given =
      message.starts_with("v=") ? FromBase64(message.substr(2)) : std::nullopt;
  if (!given || signature_.empty() || !SameBytes(*given, signature_)) {
    return {kAuthenticationFailed, "The server does not know the password"};
  }
  return Status::Ok();
}

}  // namespace quire::auth
