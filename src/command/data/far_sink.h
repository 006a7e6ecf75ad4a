// SPDX-License-Identifier: Apache-2.0
//
// $out and $merge of an aggregate that runs at a secondary: it reads here and writes at the
// primary.
#pragma once

#include "command/command.h"
#include "request/crud.h"

namespace quire::command {

// Whether the aggregate, whose rights were checked, has to write elsewhere: this member of a set
// takes no writes. Not on a shard of a cluster, where only routers know who takes them.
bool WritesElsewhere(const Invocation& invocation, const request::AggregateRequest& request);

// Reads the pipeline's result in batches and sends them to the primary, as a member; waits without
// a thread. What was merged before an error stays, as it does at a primary; $out replaces its
// target in one step.
Status RunFarSink(Invocation& invocation, const request::AggregateRequest& request);

}  // namespace quire::command
