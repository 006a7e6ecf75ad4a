// SPDX-License-Identifier: Apache-2.0
//
// Documents the server keeps about itself (users, roles, defaults, cluster parameters) in ordinary
// collections. Writes survive power loss once they return.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "engine/engine.h"
#include "quire/bson.h"
#include "quire/status.h"

namespace quire::command {

Result<std::optional<bson::Document>> LoadOwn(engine::Engine& engine, std::string_view ns,
                                              const bson::Value& id);
// In the order of `sort` (may be empty).
Result<std::vector<bson::Document>> LoadOwnAll(engine::Engine& engine, std::string_view ns,
                                               bson::View filter, bson::View sort);
// Inserts the document or replaces the one of the same _id.
Status SaveOwn(engine::Engine& engine, std::string_view ns, bson::View document);
// Inserts. Error: DuplicateKey.
Status AddOwn(engine::Engine& engine, std::string_view ns, bson::View document);
// How many there were.
Result<int64_t> RemoveOwn(engine::Engine& engine, std::string_view ns, bson::View filter);

}  // namespace quire::command
