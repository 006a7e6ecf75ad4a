// SPDX-License-Identifier: Apache-2.0
#include "shard/state/name_document.h"

#include <algorithm>
#include <cctype>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/number.h"
#include "placement/version_fields.h"

namespace quire::shard {

namespace {

Status Malformed(std::string_view field) {
  return {kFailedToParse, "stored name without a proper field '" + std::string(field) + "'"};
}

uint64_t Number(const bson::Value& value) {
  return value.is_number() ? static_cast<uint64_t>(bson::ClampedInt64(value)) : 0;
}

void AppendOwned(const std::vector<placement::KeyRange>& owned, bson::Builder* out) {
  out->BeginArray("owned");
  for (const placement::KeyRange& range : owned) {
    out->PushDocument().Append("min", range.min.values).Append("max", range.max.values).End();
  }
  out->End();
}

Result<std::vector<placement::KeyRange>> ReadOwned(const bson::Value& value) {
  std::vector<placement::KeyRange> owned;
  if (value.missing()) {
    return owned;
  }
  if (!value.is_array()) {
    return Malformed("owned");
  }
  for (const bson::Element& e : value.AsArray()) {
    if (!e.value().is_document()) {
      return Malformed("owned");
    }
    const bson::View range = e.value().AsDocument();
    if (!range["min"].is_document() || !range["max"].is_document()) {
      return Malformed("owned");
    }
    owned.push_back({placement::ShardKey::Of(range["min"].AsDocument()),
                     placement::ShardKey::Of(range["max"].AsDocument())});
  }
  return owned;
}

}  // namespace

std::string CollectionId(std::string_view ns) { return "c:" + std::string(ns); }

std::string DatabaseId(std::string_view database) {
  std::string id = "d:" + std::string(database);
  std::transform(id.begin(), id.end(), id.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return id;
}

std::string_view NameOfId(std::string_view id) { return id.substr(2); }

std::string_view DatabaseOf(std::string_view ns) { return ns.substr(0, ns.find('.')); }

placement::ShardVersion AsVersion(const placement::DatabaseVersion& version) {
  placement::ShardVersion out;
  out.sharded = true;
  std::copy_n(version.uuid.begin(), out.generation.epoch.bytes.size(),
              out.generation.epoch.bytes.begin());
  out.generation.timestamp = version.timestamp;
  out.major = static_cast<uint32_t>(version.last_mod);
  return out;
}

std::shared_ptr<const engine::OwnedPlacement> NameRecord::placement() const {
  if (!known.placed.version.sharded || key.empty()) {
    return nullptr;
  }
  auto pattern = placement::ShardKeyPattern::Parse(key);
  if (!pattern.ok()) {
    return nullptr;
  }
  return std::make_shared<engine::OwnedPlacement>(
      engine::OwnedPlacement{*std::move(pattern), known.placed.version, known.placed.owned});
}

bson::Document Encode(const NameRecord& record) {
  bson::Builder out;
  const Known& known = record.known;
  out.Append("_id", record.id)
      .Append("number", static_cast<int64_t>(known.stamp.number))
      .Append("attempt", static_cast<int64_t>(known.stamp.attempt))
      .Append("phase", static_cast<int32_t>(known.phase))
      .Append("blocked", known.blocked);
  placement::AppendVersion("version", known.placed.version, &out);
  placement::ShardVersion last;
  last.generation = known.last;
  placement::AppendVersion("last", last, &out);
  if (!record.key.empty()) {
    out.Append("key", record.key);
  }
  AppendOwned(known.placed.owned, &out);
  if (!record.kept.empty()) {
    out.Append("kept", record.kept).Append("begun", static_cast<int64_t>(record.begun));
  }
  return out.Finish();
}

Result<NameRecord> DecodeName(bson::View document) {
  NameRecord record;
  if (!document["_id"].is_string()) {
    return Malformed("_id");
  }
  record.id = std::string(document["_id"].AsString());
  Known& known = record.known;
  known.stamp = {Number(document["number"]), Number(document["attempt"])};
  known.phase = static_cast<Phase>(Number(document["phase"]));
  const bson::Value blocked = document["blocked"];
  known.blocked = blocked.type() == bson::Type::kBool && blocked.AsBool();
  const auto last = placement::ReadShardVersion(document["last"]);
  if (!last) {
    return Malformed("last");
  }
  known.last = last->generation;
  ASSIGN_OR_RETURN(known.placed, ReadPlaced(document));
  if (document["key"].is_document()) {
    record.key = bson::Document(document["key"].AsDocument());
  }
  if (document["kept"].is_document()) {
    record.kept = bson::Document(document["kept"].AsDocument());
    record.begun = Number(document["begun"]);
  }
  return record;
}

void AppendPlaced(std::string_view name, const Placed& placed, bson::View key, bson::Builder* out) {
  out->BeginDocument(name);
  placement::AppendVersion("version", placed.version, out);
  out->Append("key", key);
  AppendOwned(placed.owned, out);
  out->End();
}

Result<Placed> ReadPlaced(bson::View document) {
  Placed placed;
  const auto version = placement::ReadShardVersion(document["version"]);
  if (!version) {
    return Malformed("version");
  }
  placed.version = *version;
  ASSIGN_OR_RETURN(placed.owned, ReadOwned(document["owned"]));
  return placed;
}

}  // namespace quire::shard
