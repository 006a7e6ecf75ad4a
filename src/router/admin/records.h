// SPDX-License-Identifier: Apache-2.0
//
// Records of the coordination store as commands of a router read and change them, and as config.*
// shows them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "coord/coord.h"
#include "placement/records.h"
#include "quire/bson.h"
#include "quire/status.h"
#include "router/catalog/catalog.h"

namespace quire::router {

// On the catalog's thread (Catalog::Run).
class Records {
 public:
  Records(coord::Store* store, Catalog* catalog) : store_(*store), catalog_(*catalog) {}

  // One with `modified` 0 when there is none.
  Result<coord::Entry> Get(const std::string& key);
  // Replaces the value by what `change` makes of it (nothing: there is none yet, or it goes away),
  // again when another change came between.
  using Change =
      std::function<Result<std::optional<std::string>>(const std::optional<std::string>& value)>;
  Status Update(const std::string& key, const Change& change);

 private:
  coord::Store& store_;
  Catalog& catalog_;
};

// Documents of config.*.
bson::Document ShardDocument(const placement::ShardRecord& shard);
bson::Document DatabaseDocument(const placement::DatabaseRecord& database);
bson::Document CollectionDocument(const placement::CollectionRecord& collection);
bson::Document ChunkDocument(const placement::CollectionRecord& collection,
                             const placement::Chunk& chunk);
bson::Document ZoneDocument(const placement::ZoneRecord& zone);

}  // namespace quire::router
