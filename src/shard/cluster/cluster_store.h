// SPDX-License-Identifier: Apache-2.0
//
// What the coordination store says about the placement of a cluster, as a shard reads and writes
// it.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "coord/coord.h"
#include "placement/chunk_map.h"
#include "placement/records.h"
#include "placement/zones.h"
#include "quire/status.h"

namespace quire::shard {

// A sharded collection at one place of the store's history.
struct CollectionFacts {
  placement::CollectionRecord record;
  coord::Revision revision = 0;             // of its record
  placement::ChunkMapPtr map;               // null while it is being made
  std::vector<placement::ShardKey> starts;  // of the blocks of chunks
};

struct ZoneFacts {
  placement::Zones zones;
  std::vector<coord::Compare> compares;  // hold as long as none of them has changed or gone
};

// Safe for concurrent use. Blocks its thread, for `timeout` at most. Keys are below the cluster's
// prefix.
class ClusterStore {
 public:
  static constexpr std::chrono::seconds kTimeout{5};

  ClusterStore(std::unique_ptr<coord::Store> store, const std::string& cluster, std::string own_key)
      : store_(std::move(store)),
        prefix_("/quire/" + cluster + "/"),
        own_key_(std::move(own_key)) {}

  // Tells those who watch that something has changed, too.
  Result<coord::Answer> Transact(coord::Transaction transaction);
  // A fact: the key is read by a transaction that writes. Nothing when it is not there.
  Result<std::optional<coord::Entry>> Fact(std::string_view key, coord::Revision* at = nullptr);
  // All keys with the prefix, as they were at that revision; 0: recently, which is a hint.
  Result<std::vector<coord::Entry>> List(std::string_view prefix, coord::Revision at = 0);
  // The entry of an answer; null when it is not there.
  const coord::Entry* Find(const coord::Answer& answer, std::string_view key) const;

  // Nothing when the collection is not sharded.
  Result<std::optional<CollectionFacts>> ReadCollection(std::string_view ns);
  // In the order of their names.
  Result<std::vector<placement::ShardRecord>> ReadShards();
  Result<ZoneFacts> ReadZones(std::string_view ns);

 private:
  coord::Deadline Deadline() const { return std::chrono::steady_clock::now() + kTimeout; }
  std::string Full(std::string_view key) const { return prefix_ + std::string(key); }

  const std::unique_ptr<coord::Store> store_;
  const std::string prefix_;
  const std::string own_key_;  // written to learn facts
};

}  // namespace quire::shard
