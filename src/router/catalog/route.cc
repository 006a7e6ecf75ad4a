// SPDX-License-Identifier: Apache-2.0
#include "router/catalog/route.h"

#include <random>

namespace quire::router {

void AppendDatabaseVersion(const Route& route, bson::Builder* out) {
  if (!route.versioned) {
    return;
  }
  const placement::DatabaseVersion& version = route.database.version;
  const std::string_view uuid(reinterpret_cast<const char*>(version.uuid.data()),
                              version.uuid.size());
  out->BeginDocument("databaseVersion")
      .Append("uuid", bson::Value::Binary(uuid, 4))
      .Append("timestamp", version.timestamp)
      .Append("lastMod", version.last_mod)
      .End();
}

void AppendVersions(const Route& route, const placement::ShardName& shard, bson::Builder* out) {
  placement::ShardVersion version;
  if (route.sharded()) {
    version = route.chunks->VersionOf(shard);
  }
  out->BeginDocument("shardVersion")
      .Append("e", version.generation.epoch)
      .Append("t", version.generation.timestamp)
      .Append("v", bson::Timestamp{version.major, 0})
      .End();
  if (!route.sharded()) {
    AppendDatabaseVersion(route, out);
  }
}

std::optional<placement::ShardVersion> WantedVersion(bson::View error) {
  const bson::Value wanted = error["vWanted"];
  if (!wanted.is_document()) {
    return std::nullopt;
  }
  const bson::View fields = wanted.AsDocument();
  const bson::Value epoch = fields["e"];
  const bson::Value time = fields["t"];
  const bson::Value major = fields["v"];
  if (epoch.type() != bson::Type::kObjectId || time.type() != bson::Type::kTimestamp ||
      major.type() != bson::Type::kTimestamp) {
    return std::nullopt;
  }
  placement::ShardVersion version;
  version.generation = {epoch.AsObjectId(), time.AsTimestamp()};
  version.major = major.AsTimestamp().seconds;
  version.sharded = version.generation != placement::Generation();
  return version;
}

placement::Uuid RandomUuid() {
  static thread_local std::random_device random;
  placement::Uuid uuid;
  for (uint8_t& byte : uuid) {
    byte = static_cast<uint8_t>(random());
  }
  uuid[6] = static_cast<uint8_t>((uuid[6] & 0x0f) | 0x40);
  uuid[8] = static_cast<uint8_t>((uuid[8] & 0x3f) | 0x80);
  return uuid;
}

std::string_view DatabaseOf(std::string_view ns) { return ns.substr(0, ns.find('.')); }

}  // namespace quire::router
