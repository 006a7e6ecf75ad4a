// SPDX-License-Identifier: Apache-2.0
#include "auth/time_signature.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <cstring>

#include "base/error_codes.h"
#include "bson/json/text_forms.h"

namespace quire::auth {

namespace {

constexpr uint64_t kSignedTogether = 0xffff;

const unsigned char* Bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

// A hash of the key for one purpose, of which another purpose learns nothing.
std::string Derive(std::string_view key, std::string_view purpose) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> out;
  unsigned size = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), Bytes(purpose), purpose.size(),
       out.data(), &size);
  return {reinterpret_cast<const char*>(out.data()), size};
}

}  // namespace

TimeSigner::TimeSigner(std::string_view key) : secret_(Derive(key, "cluster time")) {
  const std::string id = Derive(key, "cluster time id");
  memcpy(&key_id_, id.data(), sizeof key_id_);
  key_id_ = (key_id_ & INT64_MAX) | 1;
}

TimeSigner::Hash TimeSigner::Sign(bson::Timestamp time) const {
  struct Last {
    const TimeSigner* signer = nullptr;
    int64_t key_id = 0;
    uint64_t bits = 0;
    Hash hash;
  };
  static thread_local Last last;
  const uint64_t bits = (uint64_t{time.seconds} << 32 | time.increment) | kSignedTogether;
  if (last.signer == this && last.key_id == key_id_ && last.bits == bits) {
    return last.hash;
  }
  std::array<char, sizeof bits> text;
  memcpy(text.data(), &bits, sizeof bits);
  std::array<unsigned char, EVP_MAX_MD_SIZE> out;
  unsigned size = 0;
  HMAC(EVP_sha1(), secret_.data(), static_cast<int>(secret_.size()),
       Bytes({text.data(), text.size()}), text.size(), out.data(), &size);
  last = {this, key_id_, bits, {}};
  memcpy(last.hash.data(), out.data(), kHashSize);
  return last.hash;
}

Status TimeSigner::Check(bson::Timestamp time, const bson::Argument& signature) const {
  const bson::Value id = signature.view()["keyId"];
  const int64_t given = id.type() == bson::Type::kInt64 ? id.AsInt64() : 0;
  if (given != key_id_) {
    return {kKeyNotFound, "Cache Reader No keys found for HMAC that is valid for time: { ts: " +
                              bson::TimestampText(time) + " } with id: " + std::to_string(given)};
  }
  const bson::Value hash = signature.view()["hash"];
  const Hash own = Sign(time);
  if (hash.type() != bson::Type::kBinary || hash.AsBinary().size() != kHashSize ||
      CRYPTO_memcmp(hash.AsBinary().data(), own.data(), kHashSize) != 0) {
    return {kTimeProofMismatch,
            "Proof does not match the cluster time " + bson::TimestampText(time)};
  }
  return Status::Ok();
}

}  // namespace quire::auth
