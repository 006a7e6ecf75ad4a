// SPDX-License-Identifier: Apache-2.0
//
// What a cluster keeps in its coordination store about placement: typed records, their keys below
// the cluster's prefix, and their values, which are documents in canonical extended JSON.
//
//   shards/<name>                        Shard's address, zones and state
//   dbs/<name in lower case>             primary shard and version of a database
//   colls/<namespace>                    key, generation, majors and options of a sharded
//   collection chunks/<generation>/<border in hex>  up to 256 neighbouring chunks, from that border
//   on zones/<namespace>/<border in hex>    a zone settings/<id>                        a document
//   of config.settings
//
// Values hold their own names as well, so that none is told by the spelling of its key.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "placement/chunk_map.h"
#include "placement/version.h"
#include "placement/zones.h"
#include "quire/bson.h"
#include "quire/status.h"

namespace quire::placement {

using Uuid = std::array<uint8_t, 16>;

struct ShardRecord {
  ShardName name;
  std::string host;  // "rs0/a:1,b:2"
  int32_t state = 1;
  bson::Timestamp topology_time;
  std::vector<std::string> tags;  // zones
  bool draining = false;

  friend bool operator==(const ShardRecord&, const ShardRecord&) = default;
  Shard shard() const { return {name, tags, draining}; }
};

// The version of a database, which requests for its unsharded collections carry.
struct DatabaseVersion {
  Uuid uuid{};
  bson::Timestamp timestamp;
  int32_t last_mod = 1;

  friend bool operator==(const DatabaseVersion&, const DatabaseVersion&) = default;
};

struct DatabaseRecord {
  enum class State { kLive, kDropping };

  std::string name;  // as it was first written; its key ignores case
  ShardName primary;
  DatabaseVersion version;
  State state = State::kLive;

  friend bool operator==(const DatabaseRecord&, const DatabaseRecord&) = default;
};

struct CollectionRecord {
  enum class State { kCreating, kLive, kDropping };

  std::string ns;
  Uuid uuid{};
  bson::Document key;
  bool unique = false;
  Generation generation;
  ChunkVersion version;  // the highest of all chunks
  Majors majors;
  int64_t layout = 0;  // grows when a block of chunks goes away
  bool no_balance = false;
  bool allow_migrations = true;
  bool auto_merge = true;
  std::optional<bson::Document> default_collation;
  std::optional<int64_t> max_chunk_bytes;
  State state = State::kLive;
};

struct SettingRecord {
  std::string id;
  bson::Document document;  // with its _id
};

struct ZoneRecord {
  std::string ns;
  ZoneRange zone;

  friend bool operator==(const ZoneRecord&, const ZoneRecord&) = default;
};

// Neighbouring chunks under one key.
struct ChunkBlock {
  static constexpr size_t kMostChunks = 256;
  static constexpr size_t kMostBytes = size_t{64} << 10;

  Chunks chunks;

  const ShardKey& min() const { return chunks.front()->range.min; }
};

std::string KeyOfShard(std::string_view name);
std::string KeyOfDatabase(std::string_view name);
std::string KeyOfCollection(std::string_view ns);
std::string KeyOfSetting(std::string_view id);
std::string KeyOfZone(std::string_view ns, const ShardKey& min);
// The prefix of a generation's blocks, and the key of one.
std::string PrefixOfChunks(const Generation& generation);
std::string KeyOfBlock(const Generation& generation, const ShardKey& min);

std::string Encode(const ShardRecord& record);
std::string Encode(const DatabaseRecord& record);
std::string Encode(const CollectionRecord& record);
std::string Encode(const SettingRecord& record);
std::string Encode(const ZoneRecord& record);
std::string Encode(const ChunkBlock& block);

// Error: FailedToParse for what is no such value.
Result<ShardRecord> DecodeShard(std::string_view value);
Result<DatabaseRecord> DecodeDatabase(std::string_view value);
Result<CollectionRecord> DecodeCollection(std::string_view value);
Result<SettingRecord> DecodeSetting(std::string_view value);
Result<ZoneRecord> DecodeZone(std::string_view value);
Result<ChunkBlock> DecodeBlock(std::string_view value);

// The chunks divided into as few blocks as their limits allow.
std::vector<ChunkBlock> DivideIntoBlocks(const Chunks& chunks);

// The blocks that a change writes and removes. `starts` are the first borders of the blocks there
// are, in order; the first of them is the lowest key.
struct BlockChange {
  std::vector<ChunkBlock> written;
  std::vector<ShardKey> removed;  // blocks that begin there
};
BlockChange BlocksOfChange(const ChunkMap& after, const std::vector<ShardKey>& starts,
                           const ChunkChange& change);

}  // namespace quire::placement
