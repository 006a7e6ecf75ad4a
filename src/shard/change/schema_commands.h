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

// One of them as it came.
struct SchemaRequest {
  std::string ns;        // of dropDatabase: the database
  std::string database;  // that the command is run on
  bson::View body;
  bson::Value write_concern;  // missing when not given
};

// Each as its coordinator runs it, with the names that it changes reserved: the reply for the
// client.
Result<bson::Document> CreateCommand(Context& context, const SchemaRequest& request);
Result<bson::Document> ConvertToCappedCommand(Context& context, const SchemaRequest& request);
Result<bson::Document> DropCommand(Context& context, const SchemaRequest& request);
Result<bson::Document> CreateIndexesCommand(Context& context, const SchemaRequest& request);
Result<bson::Document> DropIndexesCommand(Context& context, const SchemaRequest& request);
Result<bson::Document> CollModCommand(Context& context, const SchemaRequest& request);
Result<bson::Document> RenameCommand(Context& context, const SchemaRequest& request);
Result<bson::Document> DropDatabaseCommand(Context& context, const SchemaRequest& request);

}  // namespace quire::shard
