// SPDX-License-Identifier: Apache-2.0
//
// Write and read concerns in a replica set: what a command waits for before it runs, and before it
// is answered.
#pragma once

#include <string_view>

#include "command/node_running.h"
#include "engine/replication.h"
#include "quire/bson.h"
#include "quire/status.h"
#include "request/generic.h"

namespace quire::command {

// The write concern of a command, with what the defaults add.
struct EffectiveConcern {
  bson::Document shown;           // {w, j, wtimeout, provenance}, as errors tell it
  request::WriteConcern concern;  // refers to `shown`
};
EffectiveConcern ConcernOf(Commands& commands, engine::Replication& replication,
                           const request::WriteConcern& given);
// The implicit default: {w: "majority" or 1, wtimeout: 0}.
bson::Document ImplicitConcern(engine::Replication& replication);

// How durable a commit of this member has to be by itself: the concern waits for all others.
bool WaitsForOwnDisk(const request::WriteConcern& concern);

// Lets the reply of a command that ran wait for its write concern.
Status AwaitReplicated(NodeRunning& running, engine::Replication& replication);

// Before the command runs: waits for afterClusterTime, and for "majority" and "snapshot" gives the
// operation what is committed to read.
Status PrepareRead(NodeRunning& running, engine::Replication& replication);
// After it has run: "linearizable" waits until what was read is confirmed.
Status ConfirmLinearizable(NodeRunning& running, engine::Replication& replication);

}  // namespace quire::command
