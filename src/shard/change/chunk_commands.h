// SPDX-License-Identifier: Apache-2.0
//
// split, mergeChunks, mergeAllChunksOnShard and clearJumboFlag: changes of chunks that move
// nothing, so that no shard has to know. And moveChunk and moveRange as far as they find out what
// is to move.
#pragma once

#include <string>

#include "quire/bson.h"
#include "quire/status.h"
#include "shard/change/change.h"
#include "shard/change/context.h"

namespace quire::shard {

Result<bson::Document> SplitCommand(Context& context, const std::string& ns, bson::View command);
Result<bson::Document> MergeCommand(Context& context, const std::string& ns, bson::View command);
Result<bson::Document> MergeAllCommand(Context& context, const std::string& ns, bson::View command);
Result<bson::Document> ClearJumboCommand(Context& context, const std::string& ns,
                                         bson::View command);
// The change; null when the range is there already.
Result<std::unique_ptr<Change>> PlanMove(Context& context, const std::string& ns,
                                         bson::View command);

// The key that divides the documents of a range in two, on the shard that owns it:
// {_shardsvrMedian: ns, key, min, max} -> {count, median?}; without a median all documents have one
// key.
Result<bson::Document> FindMedian(Context& context, bson::View command);

// The collection as routers see it. Error: NamespaceNotSharded.
Result<CollectionFacts> ShardedFacts(Context& context, const std::string& ns);

}  // namespace quire::shard
