// SPDX-License-Identifier: Apache-2.0
#include "router/admin/records.h"

#include "base/error_codes.h"
#include "base/try.h"
#include "quire/doc.h"

namespace quire::router {

namespace {

constexpr std::chrono::seconds kTimeout{10};
constexpr int kMostTries = 100;

coord::Deadline Soon() { return std::chrono::steady_clock::now() + kTimeout; }

bson::Value UuidValue(const placement::Uuid& uuid) {
  return bson::Value::Binary(
      std::string_view(reinterpret_cast<const char*>(uuid.data()), uuid.size()), 4);
}

// The same chunk has the same id for as long as its lowest key lies where it does.
bson::ObjectId ChunkId(const placement::CollectionRecord& collection,
                       const placement::Chunk& chunk) {
  uint64_t hash = 1469598103934665603ULL;
  auto add = [&](std::string_view bytes) {
    for (const char byte : bytes) {
      hash = (hash ^ static_cast<uint8_t>(byte)) * 1099511628211ULL;
    }
  };
  const auto& epoch = collection.generation.epoch.bytes;
  add({reinterpret_cast<const char*>(epoch.data()), epoch.size()});
  add(chunk.range.min.order);
  bson::ObjectId id = collection.generation.epoch;
  for (size_t i = 0; i < 8; ++i) {
    id.bytes[4 + i] = static_cast<uint8_t>(hash >> (8 * i));
  }
  return id;
}

}  // namespace

Result<coord::Entry> Records::Get(const std::string& key) {
  coord::Range range;
  range.prefix = key;
  range.most = 1;
  ASSIGN_OR_RETURN(coord::Listing listing, store_.List(range, Soon()));
  if (listing.entries.empty() || listing.entries.front().key != key) {
    return coord::Entry{key, "", 0, 0};
  }
  return listing.entries.front();
}

Status Records::Update(const std::string& key, const Change& change) {
  ASSIGN_OR_RETURN(coord::Entry entry, Get(key));
  for (int i = 0; i < kMostTries; ++i) {
    const bool there = entry.modified != 0;
    ASSIGN_OR_RETURN(const std::optional<std::string> value,
                     change(there ? std::optional(entry.value) : std::nullopt));
    if (!value && !there) {
      return Status::Ok();
    }
    coord::Transaction transaction;
    transaction.compares = {{key, entry.modified}};
    transaction.writes = {value ? coord::Put(key, *value) : coord::Delete(key), catalog_.Changed()};
    ASSIGN_OR_RETURN(coord::Answer answer, store_.Transact(transaction, Soon()));
    if (answer.done) {
      return Status::Ok();
    }
    const coord::Entry* now = answer.Find(key);
    entry = now == nullptr ? coord::Entry{key, "", 0, 0} : *now;
  }
  return {kConflictingOperationInProgress, "The record " + key + " changes all the time"};
}

bson::Document ShardDocument(const placement::ShardRecord& shard) {
  bson::Builder out;
  out.Append("_id", shard.name)
      .Append("host", shard.host)
      .Append("state", shard.state)
      .Append("topologyTime", shard.topology_time)
      .Append("replSetConfigVersion", int64_t{-1});
  if (!shard.tags.empty()) {
    out.BeginArray("tags");
    for (const std::string& tag : shard.tags) {
      out.Push(tag);
    }
    out.End();
  }
  if (shard.draining) {
    out.Append("draining", true);
  }
  return out.Finish();
}

bson::Document DatabaseDocument(const placement::DatabaseRecord& database) {
  bson::Builder out;
  out.Append("_id", database.name)
      .Append("primary", database.primary)
      .BeginDocument("version")
      .Append("uuid", UuidValue(database.version.uuid))
      .Append("timestamp", database.version.timestamp)
      .Append("lastMod", database.version.last_mod)
      .End();
  return out.Finish();
}

bson::Document CollectionDocument(const placement::CollectionRecord& collection) {
  bson::Builder out;
  out.Append("_id", collection.ns)
      .Append("lastmodEpoch", collection.generation.epoch)
      .Append("lastmod", bson::Date{int64_t{collection.generation.timestamp.seconds} * 1000})
      .Append("timestamp", collection.generation.timestamp)
      .Append("uuid", UuidValue(collection.uuid))
      .Append("key", collection.key)
      .Append("unique", collection.unique)
      .Append("noBalance", collection.no_balance);
  if (!collection.allow_migrations) {
    out.Append("allowMigrations", false);
  }
  if (collection.default_collation) {
    out.Append("defaultCollation", *collection.default_collation);
  }
  if (collection.max_chunk_bytes) {
    out.Append("maxChunkSizeBytes", *collection.max_chunk_bytes);
  }
  if (!collection.auto_merge) {
    out.Append("enableAutoMerge", false);
  }
  return out.Finish();
}

bson::Document ChunkDocument(const placement::CollectionRecord& collection,
                             const placement::Chunk& chunk) {
  bson::Builder out;
  out.Append("_id", ChunkId(collection, chunk))
      .Append("uuid", UuidValue(collection.uuid))
      .Append("min", chunk.range.min.values)
      .Append("max", chunk.range.max.values)
      .Append("shard", chunk.shard)
      .Append("lastmod", bson::Timestamp{chunk.version.major, chunk.version.minor});
  if (!chunk.history.empty()) {
    out.Append("onCurrentShardSince", chunk.history.front().since).BeginArray("history");
    for (const placement::Chunk::Stay& stay : chunk.history) {
      out.PushDocument().Append("validAfter", stay.since).Append("shard", stay.shard).End();
    }
    out.End();
  }
  if (chunk.jumbo) {
    out.Append("jumbo", true);
  }
  return out.Finish();
}

bson::Document ZoneDocument(const placement::ZoneRecord& zone) {
  bson::Builder out;
  out.BeginDocument("_id")
      .Append("ns", zone.ns)
      .Append("min", zone.zone.range.min.values)
      .End()
      .Append("ns", zone.ns)
      .Append("min", zone.zone.range.min.values)
      .Append("max", zone.zone.range.max.values)
      .Append("tag", zone.zone.zone);
  return out.Finish();
}

}  // namespace quire::router
