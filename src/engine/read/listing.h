// SPDX-License-Identifier: Apache-2.0
//
// How listings describe collections and views: listCollections and $listClusterCatalog.
#pragma once

#include <string_view>
#include <vector>

#include "engine/engine.h"

namespace quire::engine {

// "view" or "collection".
std::string_view KindOf(const store::CollectionInfo& info);

// Appends options, info and idIndex.
void AppendDescription(const store::CollectionInfo& info, bson::Builder* out);

// The same of system.views, which is there as long as the database has views.
void AppendSystemViewsDescription(std::string_view database, bson::Builder* out);

// The collections of a database, with system.views last; of all databases for "admin". Each
// document is {ns, db, type, options, info, idIndex, sharded} and, `with_shards`, an array of no
// shards.
std::vector<bson::Document> ClusterCatalog(const Operation& operation, std::string_view database,
                                           bool with_shards);

}  // namespace quire::engine
