// SPDX-License-Identifier: Apache-2.0
//
// What a write concern asks of a node that is a replica set of one.
#pragma once

#include "engine/durability.h"
#include "quire/bson.h"
#include "request/generic.h"

namespace quire::command {

// j: true and w: "majority" wait for the disk; anything else for the process only.
engine::Durability DurabilityOf(const request::WriteConcern& concern);

// w: 0 without j: true: the client does not want to know what became of the write.
bool IsUnacknowledged(const request::WriteConcern& concern);

// Appends writeConcernError when one member cannot satisfy the concern.
void AppendWriteConcernError(const request::WriteConcern& concern, bson::Builder* reply);

}  // namespace quire::command
