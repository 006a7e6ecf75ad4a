// SPDX-License-Identifier: Apache-2.0
#include "shard/cluster/cluster_store.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/try.h"

namespace quire::shard {

namespace {
// Of keys that routers watch.
constexpr std::string_view kChanged = "changed";
}  // namespace

Result<coord::Answer> ClusterStore::Transact(coord::Transaction transaction) {
  for (coord::Compare& compare : transaction.compares) {
    compare.key = Full(compare.key);
  }
  for (coord::Write& write : transaction.writes) {
    write.key = Full(write.key);
  }
  for (std::string& key : transaction.reads) {
    key = Full(key);
  }
  transaction.writes.push_back(coord::Put(Full(kChanged), bson::ObjectId::Generate().ToHex()));
  return store_->Transact(transaction, Deadline());
}

const coord::Entry* ClusterStore::Find(const coord::Answer& answer, std::string_view key) const {
  return answer.Find(Full(key));
}

Result<std::optional<coord::Entry>> ClusterStore::Fact(std::string_view key, coord::Revision* at) {
  coord::Transaction transaction;
  transaction.writes.push_back(
      coord::Put(Full(own_key_), "\"" + bson::ObjectId::Generate().ToHex() + "\""));
  transaction.reads.push_back(Full(key));
  ASSIGN_OR_RETURN(const coord::Answer answer, store_->Transact(transaction, Deadline()));
  if (at != nullptr) {
    *at = answer.position.revision;
  }
  const coord::Entry* entry = Find(answer, key);
  return entry == nullptr ? std::optional<coord::Entry>() : std::optional(*entry);
}

Result<std::vector<coord::Entry>> ClusterStore::List(std::string_view prefix, coord::Revision at) {
  std::vector<coord::Entry> all;
  coord::Range range{.prefix = Full(prefix), .at = at};
  while (true) {
    ASSIGN_OR_RETURN(coord::Listing listing, store_->List(range, Deadline()));
    for (coord::Entry& entry : listing.entries) {
      entry.key.erase(0, prefix_.size());
      all.push_back(std::move(entry));
    }
    if (!listing.more) {
      return all;
    }
    range.after = Full(all.back().key);
    range.at = listing.position.revision;
  }
}

Result<std::optional<CollectionFacts>> ClusterStore::ReadCollection(std::string_view ns) {
  coord::Revision at = 0;
  ASSIGN_OR_RETURN(const auto entry, Fact(placement::KeyOfCollection(ns), &at));
  if (!entry) {
    return std::optional<CollectionFacts>();
  }
  CollectionFacts facts;
  facts.revision = entry->modified;
  ASSIGN_OR_RETURN(facts.record, placement::DecodeCollection(entry->value));
  if (facts.record.state == placement::CollectionRecord::State::kCreating) {
    return std::optional(std::move(facts));
  }
  ASSIGN_OR_RETURN(auto pattern, placement::ShardKeyPattern::Parse(facts.record.key));
  ASSIGN_OR_RETURN(const auto blocks, List(placement::PrefixOfChunks(facts.record.generation), at));
  placement::Chunks chunks;
  for (const coord::Entry& one : blocks) {
    ASSIGN_OR_RETURN(const placement::ChunkBlock block, placement::DecodeBlock(one.value));
    facts.starts.push_back(block.min());
    chunks.insert(chunks.end(), block.chunks.begin(), block.chunks.end());
  }
  ASSIGN_OR_RETURN(facts.map, placement::ChunkMap::Make(std::move(pattern), facts.record.generation,
                                                        std::move(chunks), facts.record.majors));
  return std::optional(std::move(facts));
}

Result<std::vector<placement::ShardRecord>> ClusterStore::ReadShards() {
  ASSIGN_OR_RETURN(const auto entries, List("shards/"));
  std::vector<placement::ShardRecord> shards;
  for (const coord::Entry& entry : entries) {
    ASSIGN_OR_RETURN(placement::ShardRecord record, placement::DecodeShard(entry.value));
    shards.push_back(std::move(record));
  }
  std::sort(shards.begin(), shards.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return shards;
}

Result<ZoneFacts> ClusterStore::ReadZones(std::string_view ns) {
  ZoneFacts facts;
  ASSIGN_OR_RETURN(const auto entries, List("zones/" + std::string(ns) + "/"));
  for (const coord::Entry& entry : entries) {
    ASSIGN_OR_RETURN(placement::ZoneRecord record, placement::DecodeZone(entry.value));
    RETURN_IF_ERROR(facts.zones.Add(std::move(record.zone)));
    facts.compares.push_back({entry.key, entry.modified});
  }
  return facts;
}

}  // namespace quire::shard
