// SPDX-License-Identifier: Apache-2.0
//
// The times that come with a command: the latest its client has seen, and the one it wants to read
// after.
#pragma once

#include "engine/engine.h"
#include "request/dispatch.h"

namespace quire::command {

// Checks $clusterTime and lets the clock go on from there; past the wall clock only for a client
// that is trusted. TypeMismatch and 40414 for a malformed one, ClusterTimeFailsRateLimiter (205)
// when it is more than a year ahead of the wall clock.
Status TakeClusterTime(const request::Call& call, bool trusted, engine::Engine& engine);

// InvalidOptions when the read concern names a time that is still to come.
Status CheckReadTimes(const request::Generic& generic, engine::Engine& engine);

}  // namespace quire::command
