// SPDX-License-Identifier: Apache-2.0
//
// The argument collectionUUID: a command that means one collection and no other of its name.
#pragma once

#include <string>

#include "engine/engine.h"

namespace quire::engine {

// CollectionUUIDMismatch, naming the collection that has it, unless `uuid` is missing or the
// collection's own. REQUIRES: `uuid` is missing or binary.
Status CheckCollectionUuid(const Operation& operation, const std::string& ns,
                           const bson::Value& uuid);

}  // namespace quire::engine
