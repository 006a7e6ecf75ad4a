// SPDX-License-Identifier: Apache-2.0
//
// What a write concern asks for.
#pragma once

#include "quire/bson.h"
#include "request/generic.h"

namespace quire::run {

// j: true and w: "majority" wait for the disk; anything else for the process only.
bool WaitsForDisk(const request::WriteConcern& concern);

// w: 0 without j: true: the client does not want to know what became of the write.
bool IsUnacknowledged(const request::WriteConcern& concern);

// The writeConcernError of a replica set of one member that cannot satisfy the concern; else empty.
bson::Document ConcernErrorOfOne(const request::WriteConcern& concern);

// Appends it, if there is one.
void AppendWriteConcernError(const request::WriteConcern& concern, bson::Builder* reply);

}  // namespace quire::run
