// SPDX-License-Identifier: Apache-2.0
#include "command/auth/member_login.h"

#include "base/try.h"

namespace quire::command {

Status MemberLogin::SetKey(std::string_view key) {
  ASSIGN_OR_RETURN(
      sha1_, auth::MakeCredential(auth::Mechanism::kScramSha1, auth::kMemberUser, key, false));
  ASSIGN_OR_RETURN(
      sha256_, auth::MakeCredential(auth::Mechanism::kScramSha256, auth::kMemberUser, key, false));
  time_signer_ = std::make_unique<const auth::TimeSigner>(key);
  return Status::Ok();
}

std::shared_ptr<Login> MemberLogin::Make(uint64_t accounts_version) const {
  const auth::RoleName everything{"__system", "admin"};
  auto login = std::make_shared<Login>();
  login->user = auth::kMemberUser;
  login->database = auth::kMemberDatabase;
  login->version = accounts_version;
  login->roles = {everything};
  auth::AddBuiltInRole(everything, &login->privileges);
  return login;
}

}  // namespace quire::command
