// SPDX-License-Identifier: Apache-2.0
//
// What a connection keeps of its login.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "auth/privilege.h"
#include "request/call.h"

namespace quire::command {

inline constexpr std::string_view kUsers = "admin.system.users";
inline constexpr std::string_view kRoles = "admin.system.roles";

// Who uses a connection, and what they may do.
struct Login : request::Attachment {
  std::string user;
  std::string database;
  std::vector<auth::RoleName> roles;  // granted and inherited
  auth::Privileges privileges;
  std::string user_id;   // the stored userId: another user of the same name has another one
  uint64_t version = 0;  // of Commands::accounts_version when it was read
  std::shared_ptr<void> place = nullptr;  // among the user's connections
};

}  // namespace quire::command
