// SPDX-License-Identifier: Apache-2.0
//
// A change of chunks in the coordination store.
#pragma once

#include "coord/coord.h"
#include "placement/chunk_map.h"
#include "quire/status.h"
#include "shard/cluster/cluster_store.h"

namespace quire::shard {

// Adds the blocks and the record of the collection after the change, compared with what it was.
Status AddChunkWrites(const CollectionFacts& facts, const placement::ChunkChange& change,
                      coord::Transaction* transaction);

}  // namespace quire::shard
