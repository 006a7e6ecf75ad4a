// SPDX-License-Identifier: Apache-2.0
//
// The command shardCollection: from what the client sent to the change.
#pragma once

#include <string>

#include "quire/bson.h"
#include "quire/status.h"
#include "shard/change/context.h"

namespace quire::shard {

// "db.collection" as commands on the admin database name it. Errors: BadValue, InvalidNamespace.
Result<std::string> ReadWholeNamespace(const bson::Element& field);

Result<bson::Document> ShardCollectionCommand(Context& context, const std::string& ns,
                                              bson::View command);

}  // namespace quire::shard
