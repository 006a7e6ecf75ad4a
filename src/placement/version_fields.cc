// SPDX-License-Identifier: Apache-2.0
#include "placement/version_fields.h"

#include <algorithm>

#include "bson/number.h"

namespace quire::placement {

void AppendVersion(std::string_view name, const ShardVersion& version, bson::Builder* out) {
  out->BeginDocument(name)
      .Append("e", version.generation.epoch)
      .Append("t", version.generation.timestamp)
      .Append("v", bson::Timestamp{version.major, 0})
      .End();
}

void AppendVersion(std::string_view name, const DatabaseVersion& version, bson::Builder* out) {
  const std::string_view uuid(reinterpret_cast<const char*>(version.uuid.data()),
                              version.uuid.size());
  out->BeginDocument(name)
      .Append("uuid", bson::Value::Binary(uuid, 4))
      .Append("timestamp", version.timestamp)
      .Append("lastMod", version.last_mod)
      .End();
}

std::optional<ShardVersion> ReadShardVersion(const bson::Value& value) {
  if (!value.is_document()) {
    return std::nullopt;
  }
  const bson::View fields = value.AsDocument();
  const bson::Value epoch = fields["e"];
  const bson::Value time = fields["t"];
  const bson::Value placed = fields["v"];
  if (epoch.type() != bson::Type::kObjectId || time.type() != bson::Type::kTimestamp ||
      placed.type() != bson::Type::kTimestamp) {
    return std::nullopt;
  }
  ShardVersion version;
  version.generation = {epoch.AsObjectId(), time.AsTimestamp()};
  version.sharded = version.generation != Generation();
  version.major = version.sharded ? placed.AsTimestamp().seconds : 0;
  return version;
}

std::optional<DatabaseVersion> ReadDatabaseVersion(const bson::Value& value) {
  if (!value.is_document()) {
    return std::nullopt;
  }
  const bson::View fields = value.AsDocument();
  const bson::Value uuid = fields["uuid"];
  const bson::Value time = fields["timestamp"];
  const bson::Value last = fields["lastMod"];
  DatabaseVersion version;
  if (uuid.type() != bson::Type::kBinary || uuid.AsBinary().size() != version.uuid.size() ||
      time.type() != bson::Type::kTimestamp || !last.is_number()) {
    return std::nullopt;
  }
  std::copy(uuid.AsBinary().begin(), uuid.AsBinary().end(), version.uuid.begin());
  version.timestamp = time.AsTimestamp();
  version.last_mod = static_cast<int32_t>(bson::ClampedInt64(last));
  return version;
}

}  // namespace quire::placement
