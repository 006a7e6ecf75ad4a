// SPDX-License-Identifier: Apache-2.0
#include "placement/records.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "base/try.h"
#include "bson/number.h"
#include "placement/record_reader_internal.h"
#include "quire/doc.h"
#include "quire/error.h"

namespace quire::placement {

namespace {

std::string Hex(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (char c : bytes) {
    text += kDigits[static_cast<unsigned char>(c) >> 4];
    text += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return text;
}

bson::Value UuidValue(const Uuid& uuid) {
  return bson::Value::Binary(
      std::string_view(reinterpret_cast<const char*>(uuid.data()), uuid.size()), 4);
}

bson::Timestamp StampOf(ChunkVersion version) { return {version.major, version.minor}; }
ChunkVersion VersionOf(bson::Timestamp stamp) { return {stamp.seconds, stamp.increment}; }

constexpr std::string_view kDatabaseStates[] = {"live", "dropping"};
constexpr std::string_view kCollectionStates[] = {"creating", "live", "dropping"};

void AppendChunk(const Chunk& chunk, bson::Builder* out) {
  out->Append("min", chunk.range.min.values)
      .Append("max", chunk.range.max.values)
      .Append("shard", chunk.shard)
      .Append("ver", StampOf(chunk.version));
  if (chunk.jumbo) {
    out->Append("jumbo", true);
  }
  out->BeginArray("history");
  for (const Chunk::Stay& stay : chunk.history) {
    out->PushDocument().Append("since", stay.since).Append("shard", stay.shard).End();
  }
  out->End();
}

Result<ChunkPtr> ReadChunk(bson::View document) {
  RecordReader reader("chunk", document);
  Chunk chunk;
  chunk.range.min = ShardKey::Of(reader.Document("min"));
  chunk.range.max = ShardKey::Of(reader.Document("max"));
  chunk.shard = reader.String("shard");
  chunk.version = VersionOf(reader.Timestamp("ver"));
  chunk.jumbo = reader.OptionalBool("jumbo", false);
  for (const bson::Element& element : reader.Array("history")) {
    RecordReader stay("stay of a chunk", element.value());
    chunk.history.push_back({stay.Timestamp("since"), stay.String("shard")});
    RETURN_IF_ERROR(stay.status());
  }
  RETURN_IF_ERROR(reader.status());
  return ChunkPtr(std::make_shared<const Chunk>(std::move(chunk)));
}

size_t EncodedSize(const Chunk& chunk) {
  bson::Builder out;
  AppendChunk(chunk, &out);
  return bson::ToCanonicalJson(out.Finish()).size() + 1;
}

}  // namespace

std::string KeyOfShard(std::string_view name) { return "shards/" + std::string(name); }

std::string KeyOfDatabase(std::string_view name) {
  std::string key = "dbs/";
  for (char c : name) {
    key += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return key;
}

std::string KeyOfCollection(std::string_view ns) { return "colls/" + std::string(ns); }
std::string KeyOfSetting(std::string_view id) { return "settings/" + std::string(id); }

std::string KeyOfZone(std::string_view ns, const ShardKey& min) {
  return "zones/" + std::string(ns) + "/" + Hex(min.order);
}

std::string PrefixOfChunks(const Generation& generation) {
  return "chunks/" + generation.epoch.ToHex() + "/";
}

std::string KeyOfBlock(const Generation& generation, const ShardKey& min) {
  return PrefixOfChunks(generation) + Hex(min.order);
}

std::string Encode(const ShardRecord& record) {
  bson::Builder out;
  out.Append("name", record.name)
      .Append("host", record.host)
      .Append("state", record.state)
      .Append("topologyTime", record.topology_time);
  Put(&out, "tags", ListOf(record.tags));
  out.Append("draining", record.draining);
  return bson::ToCanonicalJson(out.Finish());
}

std::string Encode(const DatabaseRecord& record) {
  bson::Builder out;
  out.Append("name", record.name).Append("primary", record.primary);
  out.BeginDocument("version")
      .Append("uuid", UuidValue(record.version.uuid))
      .Append("timestamp", record.version.timestamp)
      .Append("lastMod", record.version.last_mod)
      .End();
  out.Append("state", kDatabaseStates[static_cast<size_t>(record.state)]);
  return bson::ToCanonicalJson(out.Finish());
}

std::string Encode(const CollectionRecord& record) {
  bson::Builder out;
  out.Append("ns", record.ns)
      .Append("uuid", UuidValue(record.uuid))
      .Append("key", record.key)
      .Append("unique", record.unique)
      .Append("epoch", record.generation.epoch)
      .Append("timestamp", record.generation.timestamp)
      .Append("ver", StampOf(record.version));
  // An array: a shard's name may be anything, and a field's may not.
  out.BeginArray("majors");
  for (const auto& [shard, major] : record.majors) {
    out.PushDocument().Append("shard", shard).Append("major", int64_t{major}).End();
  }
  out.End();
  out.Append("layout", record.layout)
      .Append("noBalance", record.no_balance)
      .Append("allowMigrations", record.allow_migrations)
      .Append("enableAutoMerge", record.auto_merge);
  if (record.default_collation.has_value()) {
    out.Append("defaultCollation", *record.default_collation);
  }
  if (record.max_chunk_bytes.has_value()) {
    out.Append("maxChunkSizeBytes", *record.max_chunk_bytes);
  }
  out.Append("state", kCollectionStates[static_cast<size_t>(record.state)]);
  return bson::ToCanonicalJson(out.Finish());
}

std::string Encode(const SettingRecord& record) { return bson::ToCanonicalJson(record.document); }

std::string Encode(const ZoneRecord& record) {
  return bson::ToCanonicalJson(Doc("ns", record.ns, "min", record.zone.range.min.values, "max",
                                   record.zone.range.max.values, "zone", record.zone.zone));
}

std::string Encode(const ChunkBlock& block) {
  bson::Builder out;
  out.BeginArray("chunks");
  for (const ChunkPtr& chunk : block.chunks) {
    out.PushDocument();
    AppendChunk(*chunk, &out);
    out.End();
  }
  out.End();
  return bson::ToCanonicalJson(out.Finish());
}

Result<ShardRecord> DecodeShard(std::string_view value) {
  ASSIGN_OR_RETURN(bson::Document document, bson::Document::FromJson(value));
  RecordReader reader("shard", document.view());
  ShardRecord record;
  record.name = reader.String("name");
  record.host = reader.String("host");
  record.state = static_cast<int32_t>(reader.Integer("state"));
  record.topology_time = reader.Timestamp("topologyTime");
  record.draining = reader.OptionalBool("draining", false);
  for (const bson::Element& tag : reader.Array("tags")) {
    if (!tag.value().is_string()) {
      return reader.Malformed("tags");
    }
    record.tags.emplace_back(tag.value().AsString());
  }
  RETURN_IF_ERROR(reader.status());
  return record;
}

Result<DatabaseRecord> DecodeDatabase(std::string_view value) {
  ASSIGN_OR_RETURN(bson::Document document, bson::Document::FromJson(value));
  RecordReader reader("database", document.view());
  RecordReader version("version of a database", bson::Value(reader.Document("version")));
  DatabaseRecord record;
  record.name = reader.String("name");
  record.primary = reader.String("primary");
  record.state = static_cast<DatabaseRecord::State>(reader.OneOf("state", kDatabaseStates));
  record.version.uuid = version.Uuid("uuid");
  record.version.timestamp = version.Timestamp("timestamp");
  record.version.last_mod = static_cast<int32_t>(version.Integer("lastMod"));
  RETURN_IF_ERROR(reader.status());
  RETURN_IF_ERROR(version.status());
  return record;
}

Result<CollectionRecord> DecodeCollection(std::string_view value) {
  ASSIGN_OR_RETURN(bson::Document document, bson::Document::FromJson(value));
  RecordReader reader("collection", document.view());
  CollectionRecord record;
  record.ns = reader.String("ns");
  record.uuid = reader.Uuid("uuid");
  record.key = bson::Document(reader.Document("key"));
  record.unique = reader.OptionalBool("unique", false);
  record.generation = {reader.ObjectId("epoch"), reader.Timestamp("timestamp")};
  record.version = VersionOf(reader.Timestamp("ver"));
  for (const bson::Element& element : reader.Array("majors")) {
    RecordReader major("major of a shard", element.value());
    record.majors[major.String("shard")] = static_cast<uint32_t>(major.Integer("major"));
    RETURN_IF_ERROR(major.status());
  }
  record.layout = reader.Integer("layout");
  record.no_balance = reader.OptionalBool("noBalance", false);
  record.allow_migrations = reader.OptionalBool("allowMigrations", true);
  record.auto_merge = reader.OptionalBool("enableAutoMerge", true);
  if (document.view().Has("defaultCollation")) {
    record.default_collation = bson::Document(reader.Document("defaultCollation"));
  }
  if (document.view().Has("maxChunkSizeBytes")) {
    record.max_chunk_bytes = reader.Integer("maxChunkSizeBytes");
  }
  record.state = static_cast<CollectionRecord::State>(reader.OneOf("state", kCollectionStates));
  RETURN_IF_ERROR(reader.status());
  return record;
}

Result<SettingRecord> DecodeSetting(std::string_view value) {
  SettingRecord record;
  ASSIGN_OR_RETURN(record.document, bson::Document::FromJson(value));
  RecordReader reader("setting", record.document.view());
  record.id = reader.String("_id");
  RETURN_IF_ERROR(reader.status());
  return record;
}

Result<ZoneRecord> DecodeZone(std::string_view value) {
  ASSIGN_OR_RETURN(bson::Document document, bson::Document::FromJson(value));
  RecordReader reader("zone", document.view());
  ZoneRecord record;
  record.ns = reader.String("ns");
  record.zone.range = {ShardKey::Of(reader.Document("min")), ShardKey::Of(reader.Document("max"))};
  record.zone.zone = reader.String("zone");
  RETURN_IF_ERROR(reader.status());
  return record;
}

Result<ChunkBlock> DecodeBlock(std::string_view value) {
  ASSIGN_OR_RETURN(bson::Document document, bson::Document::FromJson(value));
  RecordReader reader("block of chunks", document.view());
  ChunkBlock block;
  for (const bson::Element& element : reader.Array("chunks")) {
    if (!element.value().is_document()) {
      return reader.Malformed("chunks");
    }
    ASSIGN_OR_RETURN(ChunkPtr chunk, ReadChunk(element.value().AsDocument()));
    block.chunks.push_back(std::move(chunk));
  }
  RETURN_IF_ERROR(reader.status());
  if (block.chunks.empty()) {
    return reader.Malformed("chunks");
  }
  return block;
}

std::vector<ChunkBlock> DivideIntoBlocks(const Chunks& chunks) {
  std::vector<ChunkBlock> blocks;
  size_t bytes = 0;
  for (const ChunkPtr& chunk : chunks) {
    const size_t size = EncodedSize(*chunk);
    if (blocks.empty() || blocks.back().chunks.size() == ChunkBlock::kMostChunks ||
        bytes + size > ChunkBlock::kMostBytes) {
      blocks.emplace_back();
      bytes = sizeof "{\"chunks\":[]}";
    }
    blocks.back().chunks.push_back(chunk);
    bytes += size;
  }
  return blocks;
}

BlockChange BlocksOfChange(const ChunkMap& after, const std::vector<ShardKey>& starts,
                           const ChunkChange& change) {
  BlockChange blocks;
  if (change.empty()) {
    return blocks;
  }
  const ShardKey& min = change.removed.front()->range.min;
  const ShardKey& max = change.removed.back()->range.max;
  auto first = std::prev(std::upper_bound(starts.begin() + 1, starts.end(), min));
  auto behind = std::lower_bound(first + 1, starts.end(), max);
  const size_t from = after.IndexOf(*first);
  const size_t to = behind == starts.end() ? after.chunks().size() : after.IndexOf(*behind);
  blocks.written =
      DivideIntoBlocks(Chunks(after.chunks().begin() + static_cast<std::ptrdiff_t>(from),
                              after.chunks().begin() + static_cast<std::ptrdiff_t>(to)));
  for (auto start = first; start != behind; ++start) {
    if (std::none_of(blocks.written.begin(), blocks.written.end(),
                     [&](const ChunkBlock& block) { return block.min() == *start; })) {
      blocks.removed.push_back(*start);
    }
  }
  return blocks;
}

}  // namespace quire::placement
