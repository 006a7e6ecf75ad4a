// SPDX-License-Identifier: Apache-2.0
//
// {atype, ts, uuid, local, remote, users, roles, param, result}: MongoDB's audit messages.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quire/bson.h"

namespace quire::audit {

// Who an event is about.
struct Who {
  int64_t connection = 0;  // 0: the server itself
  std::string local;       // "127.0.0.1:27017", a unix socket's path, or "" for the server itself
  std::string remote;
  std::vector<std::pair<std::string, std::string>> users;  // name and database
  std::vector<std::pair<std::string, std::string>> roles;
};

// Appends an address ("ip:port", "[ip]:port" or a path) as events have it.
void AppendEndpoint(std::string_view field, std::string_view address, bson::Builder* out);

// `result` is an error number, 0 for success.
bson::Document Event(std::string_view type, const Who& who, bson::View param, int result);

}  // namespace quire::audit
