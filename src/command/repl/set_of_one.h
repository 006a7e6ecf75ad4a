// SPDX-License-Identifier: Apache-2.0
//
// The replica set that a node without others is: its only member, and always the primary.
#pragma once

#include <string_view>

#include "command/command.h"
#include "quire/status.h"

namespace quire::command {

// One document, of the set's name. PERSISTED in MongoDB's own form.
inline constexpr std::string_view kConfigurations = "local.system.replset";

namespace set_of_one {

Status GetStatus(Invocation& invocation);
Status GetConfig(Invocation& invocation);
Status Initiate(Invocation& invocation);
Status Reconfig(Invocation& invocation);

}  // namespace set_of_one

// Writes what the set is without anybody's word to local.system.replset, unless there is something,
// and a note that replSetInitiate may still say it.
Status KeepConfiguration(engine::Engine& engine, const ServerInfo& info);

}  // namespace quire::command
