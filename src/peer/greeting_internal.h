// SPDX-License-Identifier: Apache-2.0
//
// What is said on a new connection before its first request: hello with who we are, and the login.
#pragma once

#include <optional>

#include "auth/scram.h"
#include "peer/pool.h"
#include "quire/bson.h"
#include "quire/status.h"

namespace quire::peer {

class Greeting {
 public:
  // Both outlive it.
  Greeting(const PoolOptions& options, auth::SaltedPasswords* known)
      : options_(options), known_(known) {}

  bson::Document Hello() const;
  // The next command; nothing: the connection is ready. Error: that of the login.
  Result<std::optional<bson::Document>> Next(bson::View reply);

 private:
  enum class State : unsigned char { kHello, kChallenge, kSignature, kLast };
  Result<std::optional<bson::Document>> Login();
  bson::Document Continue(bson::View reply, std::string_view payload) const;

  const PoolOptions& options_;
  auth::SaltedPasswords* const known_;
  State state_ = State::kHello;
  std::optional<auth::ScramClient> scram_;
};

}  // namespace quire::peer
