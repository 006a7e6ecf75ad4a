// SPDX-License-Identifier: Apache-2.0
//
// A snapshot that is going to be read again, at its time, on any member of a set.
#pragma once

#include "quire/bson.h"
#include "quire/status.h"

namespace quire::engine {

class Engine;

// Keeps what a primary shows as that of `time`, which may lie ahead: what is written later gets
// later times. The log tells the other members of it. False: something was written before it could
// say so, and only this member keeps it. Error: SnapshotTooOld, when something was written at a
// later time already.
Result<bool> KeepSnapshot(Engine& engine, bson::Timestamp time);

}  // namespace quire::engine
