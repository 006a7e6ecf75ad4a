// SPDX-License-Identifier: Apache-2.0
//
// How the other members of a set log in: as __system@local, a user that is stored nowhere, with the
// key that they share or with certificates of the same organisation.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "auth/key_file.h"
#include "auth/scram.h"
#include "auth/time_signature.h"
#include "command/auth/login_state.h"
#include "quire/status.h"

namespace quire::command {

// Set up before the first request; safe for concurrent use after that.
class MemberLogin {
 public:
  // Whoever knows the key is a member. REQUIRES: not empty.
  Status SetKey(std::string_view key);
  // Whoever has a certificate with the O, OU and DC of the server's own is a member.
  void AcceptCertificates() { certificates_ = true; }

  bool by_certificate() const { return certificates_; }
  // Whether that user is a member, and members can log in at all.
  bool Is(std::string_view user, std::string_view database) const {
    return (sha1_ || certificates_) && user == auth::kMemberUser &&
           database == auth::kMemberDatabase;
  }
  // Nothing without a key.
  std::optional<auth::Credential> CredentialOf(auth::Mechanism mechanism) const {
    return mechanism == auth::Mechanism::kScramSha1 ? sha1_ : sha256_;
  }
  // With the key; null without.
  const auth::TimeSigner* time_signer() const { return time_signer_.get(); }
  // A member may do everything.
  std::shared_ptr<Login> Make(uint64_t accounts_version) const;

 private:
  std::optional<auth::Credential> sha1_;
  std::optional<auth::Credential> sha256_;
  std::unique_ptr<const auth::TimeSigner> time_signer_;
  bool certificates_ = false;
};

}  // namespace quire::command
