// SPDX-License-Identifier: Apache-2.0
//
// create, drop, renameCollection, collMod, createIndexes, dropIndexes, convertToCapped and
// dropDatabase: on all shards where the collection is sharded, else here.
#pragma once

#include <string>

#include "quire/bson.h"
#include "quire/status.h"
#include "shard/change/context.h"

namespace quire::shard {

struct SchemaRequest {
  std::string name;  // of the command
  std::string ns;
  std::string database;  // that the command is run on
  bson::View body;
  bson::Value write_concern;  // missing when not given
};

Result<bson::Document> SchemaCommand(Context& context, const SchemaRequest& request);

}  // namespace quire::shard
