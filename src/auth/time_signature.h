// SPDX-License-Identifier: Apache-2.0
//
// Signatures of cluster times: clients carry times from one member of a cluster to another, and may
// not make them up.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "quire/bson.h"
#include "quire/status.h"

namespace quire::auth {

// Immutable.
class TimeSigner {
 public:
  static constexpr size_t kHashSize = 20;
  using Hash = std::array<char, kHashSize>;

  // `key`: what all members share.
  explicit TimeSigner(std::string_view key);

  // Says which key it was; never 0.
  int64_t key_id() const { return key_id_; }
  // The same for the times of one second, unless there are more than 65,536.
  Hash Sign(bson::Timestamp time) const;
  // {hash, keyId} as a client sends it; empty: there is none. Errors: KeyNotFound,
  // TimeProofMismatch.
  Status Check(bson::Timestamp time, const bson::Argument& signature) const;

 private:
  std::string secret_;
  int64_t key_id_;
};

}  // namespace quire::auth
