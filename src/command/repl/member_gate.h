// SPDX-License-Identifier: Apache-2.0
//
// What a member of a replica set runs, by its role.
#pragma once

#include "command/node_running.h"
#include "engine/replication.h"
#include "quire/status.h"

namespace quire::command {

// Ok, or NotWritablePrimary, NotPrimaryNoSecondaryOk, NotPrimaryOrSecondary. Leaves a suspension
// while a step-down decides itself. Notes the epoch of what a primary lets pass.
Status AllowOnMember(NodeRunning& running, engine::Replication& replication);

}  // namespace quire::command
