// SPDX-License-Identifier: Apache-2.0
#include "shard/change/chunk_writes.h"

namespace quire::shard {

Status AddChunkWrites(const CollectionFacts& facts, const placement::ChunkChange& change,
                      coord::Transaction* transaction) {
  const std::string key = placement::KeyOfCollection(facts.record.ns);
  const auto after = facts.map->With(change);
  const placement::BlockChange blocks = placement::BlocksOfChange(*after, facts.starts, change);
  placement::CollectionRecord record = facts.record;
  record.version = after->version();
  record.majors = after->majors();
  if (!blocks.removed.empty()) {
    ++record.layout;
  }
  transaction->compares.push_back({key, facts.revision});
  transaction->writes.push_back(coord::Put(key, placement::Encode(record)));
  for (const placement::ShardKey& min : blocks.removed) {
    transaction->writes.push_back(
        coord::Delete(placement::KeyOfBlock(facts.record.generation, min)));
  }
  for (const placement::ChunkBlock& block : blocks.written) {
    transaction->writes.push_back(coord::Put(
        placement::KeyOfBlock(facts.record.generation, block.min()), placement::Encode(block)));
  }
  return Status::Ok();
}

}  // namespace quire::shard
