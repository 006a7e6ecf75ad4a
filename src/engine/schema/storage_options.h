// SPDX-License-Identifier: Apache-2.0
//
// The options for a storage engine that create and createIndexes take. There is one engine whose
// options MongoDB's users write, WiredTiger; they are checked and kept, and change nothing here.
#pragma once

#include "quire/bson.h"
#include "quire/status.h"

namespace quire::engine {

// {wiredTiger: {configString: "..."}}. Errors: InvalidOptions for an engine or option that does not
// exist, BadValue, TypeMismatch or FailedToParse for a bad value.
Status CheckStorageEngine(bson::View options);

// {storageEngine: {...}}, the option indexOptionDefaults of a collection.
Status CheckIndexOptionDefaults(bson::View defaults);

}  // namespace quire::engine
