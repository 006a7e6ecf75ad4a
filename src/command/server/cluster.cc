// SPDX-License-Identifier: Apache-2.0
#include "command/server/cluster.h"

#include "bson/number.h"
#include "command/own_documents.h"
#include "command/stored_version.h"

namespace quire::command {

void ClusterSettings::Load(engine::Engine& engine) {
  MutexLock lock(mutex_);
  auto version = LoadOwn(engine, kVersionNs, bson::Value(kVersionId));
  if (version.ok() && *version && (**version)["version"].is_string()) {
    version_ = (**version)["version"].AsString();
  }
  writes_blocked_ = false;
  auto block = LoadOwn(engine, kClusterSettings, bson::Value(kWriteBlockId));
  if (block.ok() && *block) {
    bson::Value global = (**block)["global"];
    bson::Value reason = (**block)["reason"];
    block_reason_ = reason.is_string() ? std::string(reason.AsString()) : "";
    writes_blocked_ = global.type() == bson::Type::kBool && global.AsBool();
  }
  read_millis_ = 0;
  auto limit = LoadOwn(engine, kClusterParameters, bson::Value("defaultMaxTimeMS"));
  if (limit.ok() && *limit && (**limit)["readOperations"].is_number()) {
    read_millis_ = bson::ClampedInt64((**limit)["readOperations"]);
  }
}

std::string ClusterSettings::version() {
  MutexLock lock(mutex_);
  return version_;
}

std::string ClusterSettings::block_reason() {
  MutexLock lock(mutex_);
  return block_reason_;
}

}  // namespace quire::command
