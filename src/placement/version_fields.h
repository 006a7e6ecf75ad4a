// SPDX-License-Identifier: Apache-2.0
//
// Versions as requests and errors carry them: {e: epoch, t: timestamp, v: Timestamp(major, minor)},
// all zero for an unsharded collection, and {uuid, timestamp, lastMod} of a database.
#pragma once

#include <optional>
#include <string_view>

#include "placement/records.h"
#include "placement/version.h"
#include "quire/bson.h"

namespace quire::placement {

void AppendVersion(std::string_view name, const ShardVersion& version, bson::Builder* out);
void AppendVersion(std::string_view name, const DatabaseVersion& version, bson::Builder* out);

// Nothing when it is no such document.
std::optional<ShardVersion> ReadShardVersion(const bson::Value& value);
std::optional<DatabaseVersion> ReadDatabaseVersion(const bson::Value& value);

}  // namespace quire::placement
