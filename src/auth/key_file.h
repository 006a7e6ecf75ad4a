// SPDX-License-Identifier: Apache-2.0
//
// The file with the key that the members of a set share.
#pragma once

#include <string>
#include <string_view>

#include "quire/status.h"

namespace quire::auth {

// Who members are to each other: a user that is stored nowhere.
inline constexpr std::string_view kMemberUser = "__system";
inline constexpr std::string_view kMemberDatabase = "local";

// The key: 6 to 1024 characters of base64, white space left out. Error: FileNotOpen, InvalidPath
// (others than its owner may read it), BadValue.
Result<std::string> ReadKeyFile(const std::string& path);

}  // namespace quire::auth
